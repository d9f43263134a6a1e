"""What it takes to copy a run into a file and back.

__main__.py   start here
ours.py       one copy by `mentor-stream export` or `import`
bare.py       one with sqlite3, kafka-python and pyarrow alone
"""

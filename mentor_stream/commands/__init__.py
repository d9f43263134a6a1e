"""The commands of `mentor-stream`: each module or package that has an `app`, which cli.py adds.

All are loaded for any command, so they import typer and nothing slow. arguments.py, moment.py, run.py,
output.py and progress.py are what they share.
"""

"""A run's stream as it goes by: `mentor-stream tail`. Reads by position: no group is joined, nothing written.

tool.py       start here: what the command calls
choice.py     which events are wanted
lessons.py    a hint, what it answers, and what came of it: three topics put together
views.py      an event in words; documents.py, the same for programs
"""

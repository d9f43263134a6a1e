"""Two mentor policies side by side: `mentor-stream compare`. Reads what two runs, or replays, have recorded.

tool.py      start here: what the command calls
record.py    what a run's stream says of its cases and of what came of its hints
figures.py   a run in numbers, and the cases of two runs put beside each other: without I/O
policy.py    which policy hints are tried on
page/        the same as a page of HTML that needs nothing else
"""

"""How often hints help a policy over questions that it failed: `mentor-stream compare --samples`.

tool.py      start here: what the command calls
trials.py    every question with either hint and with none, as a rollout worker would ask it: without I/O
report.py    what came of it in figures: without I/O

Asking, the file of answers and the estimates are those of evaluation/.
"""

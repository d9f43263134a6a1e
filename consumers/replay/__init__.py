"""Another mentor policy over recorded failures: `mentor-stream replay`. No trainer, no GPU.

tool.py       start here: what the command calls
cases.py      the recorded groups, in an order that never changes
nothing.py    a range without any, and what there is instead
replaying.py  each through the guide, many at once, published in that order
account.py    what came of it, and a digest of all that was published
"""

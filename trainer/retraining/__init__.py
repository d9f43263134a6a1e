"""Training once more from what a run has recorded: `mentor-stream retrain`. No feeder, no rollout, no mentor.

tool.py       start here: what the command calls, and what must hold before it starts
request.py    what it hands to every rank
run.py        rank 0 at work: batch by batch through the learner of training itself
batches.py    which groups each version is trained on: as the run's journal says, or cut anew
recorded.py   the run's groups in the order of time, and the losses that it told
told.py       what is said of it, line by line

The recorded run is read by position: nothing is written to its topics or its directory.
"""

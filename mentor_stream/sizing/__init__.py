"""What a run needs of a cluster: rollout workers, mentors, partitions, brokers, disk.

workload.py is what a run does in a second, plan.py what that takes; measured.py reads the one off a run that
was, weights.py off the model. docs/operations.md says how to use it.
"""

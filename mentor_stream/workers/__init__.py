"""Worker processes for code that may hang, crash or eat memory: each can be killed at any time.

pool.py      the parent's side, which bounds a call's time by the clock and replaces workers that are lost
process.py   the worker: a fresh interpreter that holds one handler; the kernel bounds its CPU time and memory
frames.py    what the two say to each other
"""

from mentor_stream.workers.pool import Pool, WorkerDied, WorkerError, WorkerExhausted, WorkerFailed, pool

__all__ = ["Pool", "WorkerDied", "WorkerError", "WorkerExhausted", "WorkerFailed", "pool"]

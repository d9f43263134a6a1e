"""`mentor-stream up`: every component of a run on this machine, watched over and shown.

Start with supervise.py (one call of it), then run.py (the order of things) and child.py (one process kept
alive). Decisions stand alone: restarts.py, drain.py, threads.py. What is seen on the way is board.py and
figures.py (reduced from metrics; steps.py: the trainer's), what is shown of it view/; what is left at the end
is history.py, results.py, curves.py and messages.py. lock.py keeps a second `up` away; config.py is section
[supervisor].
"""

from mentor_stream.config import Config


def up(config: Config) -> int:
    """Run everything to the end, or until SIGINT, SIGTERM or SIGHUP. Returns the process's exit code.

    0: the run is over and its results are written. 1: a component died too often, or another `up`
    holds the run. 128 + signal: stopped on request; the same command goes on.
    Raises BrokerUnavailable when there is no broker to start with.
    """
    from mentor_stream.supervisor.supervise import supervise

    return supervise(config)

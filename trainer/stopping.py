"""How the training thread is asked to stop, or to finish: between two steps, never inside one."""

import os
import signal
import threading

from mentor_stream.process import PARENT_PIPE


class Stop(threading.Event):
    """Set when training is to stop; the first reason counts."""

    reason: int | None = None
    """The signal that asked for it, SIGHUP standing for the end of a supervising parent."""

    def ask(self, reason: int) -> None:
        """Set it."""
        self.reason = self.reason or reason
        self.set()


def watch() -> Stop:
    """What SIGTERM, SIGINT and the end of a supervising parent set. Call on the main thread."""
    stop = Stop()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: stop.ask(received))
    if os.environ.get(PARENT_PIPE):
        threading.Thread(target=_wait_for_parent, args=(stop,), daemon=True).start()
    return stop


def watch_for_finish() -> threading.Event:
    """An event that SIGUSR1 sets: no more groups will come, so end the run once none is left."""
    finish = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: finish.set())
    return finish


def ignore() -> None:
    """Leave the decision to rank 0."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)


def _wait_for_parent(stop: Stop) -> None:
    while os.read(0, 1):
        pass
    stop.ask(signal.SIGHUP)

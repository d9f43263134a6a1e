"""Patience with what is far away: tried again, with growing pauses, until a deadline and no longer."""

import errno
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

from mentor_stream.snapshots.manifest import SnapshotError, StoreError

PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Before it is tried again; the last one from then on."""
SAY_SECONDS = 30.0
"""Between log lines about one failure."""
HERE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""What is our own disk's refusal: another try is no help."""

log = logging.getLogger(__name__)
T = TypeVar("T")


def persist(work: Callable[[], T], what: str, deadline: float, again: Callable[[], None] = lambda: None) -> T:
    """What `work` returns, tried until `deadline` (of time.monotonic). `what` begins the error's text.

    `again` is told before every try but the first.

    Raises StoreError; at once FileNotFoundError for what is not there, ImportError for a missing package,
    SnapshotError, and the OSError of a disk that is full here.
    """
    tries, said = 0, -SAY_SECONDS
    while True:
        tries += 1
        try:
            return within(max(0.0, deadline - time.monotonic()), work)
        except (FileNotFoundError, ImportError, SnapshotError):
            raise
        except Exception as error:  # each store's package has its own
            if isinstance(error, OSError) and error.errno in HERE:
                raise
            now, pause = time.monotonic(), PAUSES[min(tries, len(PAUSES)) - 1]
            if now + pause >= deadline:
                raise StoreError(f"{what}: {reason(error)} (tries: {tries})") from error
            if now - said >= SAY_SECONDS:
                log.warning("%s: %s; it is tried again", what, reason(error))
                said = now
        time.sleep(pause)
        again()


def within(seconds: float, work: Callable[[], T]) -> T:
    """What `work` returns. Raises TimeoutError after so long; the work is then left to itself."""
    done = beside(work)
    try:
        return done.result(seconds)
    except TimeoutError:
        if done.done():
            raise  # the work's own
        raise TimeoutError("no answer in time") from None


def beside(work: Callable[[], T]) -> Future[T]:
    """What `work` comes to, in a thread of its own that keeps no process from ending."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=run, daemon=True, name="store").start()
    return done


def reason(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

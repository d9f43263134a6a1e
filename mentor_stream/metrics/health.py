"""Whether this process is alive, and whether it is ready.

Alive: what must turn turns. A broker that is away, an endpoint that fails, a stream with nothing on it are
waited for, and whoever waits turns: only a loop or a step that hangs is dead, and a restart can mend it.
Ready: it has what it needs to do its work. That may come and go, and no restart would help.
"""

import threading
import time
from dataclasses import dataclass, field
from math import inf

LOOP, TRAINING = "the event loop", "training"
"""What must turn. Training does with every look for groups, every step, checkpoint and release."""
BROKER, POLICY = "the broker", "a policy"
"""What a process may need to be ready."""


@dataclass
class _Sign:
    """That something goes well, for so long after it was last seen to."""

    at: float
    within: float
    trouble: str = ""

    def late(self, now: float) -> float:
        return max(0.0, now - self.at - self.within)


@dataclass
class Health:
    """Signs of life and of readiness. Any thread may give them; `now` is monotonic time in seconds."""

    _turning: dict[str, _Sign] = field(default_factory=dict[str, _Sign])
    _needed: dict[str, _Sign | None] = field(default_factory=dict[str, "_Sign | None"])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def watch(self, what: str, within: float, now: float | None = None) -> None:
        """From now on `what` must turn at least once in so many seconds."""
        with self._lock:
            self._turning[what] = _Sign(_now(now), within)

    def turns(self, what: str, now: float | None = None) -> None:
        """It does, where anybody watches."""
        with self._lock:
            if what in self._turning:
                self._turning[what].at = _now(now)

    def rests(self, what: str) -> None:
        """Its work is over: nobody watches it any more."""
        with self._lock:
            self._turning.pop(what, None)

    def needs(self, what: str) -> None:
        """Without this the process is not ready."""
        with self._lock:
            self._needed.setdefault(what, None)

    def has(self, what: str, within: float = inf, now: float | None = None) -> None:
        """It is there; that holds for so many seconds."""
        with self._lock:
            self._needed[what] = _Sign(_now(now), within)

    def lacks(self, what: str, trouble: str, now: float | None = None) -> None:
        """It is not there, for this reason."""
        with self._lock:
            self._needed[what] = _Sign(_now(now), 0.0, trouble)

    def stuck(self, now: float | None = None) -> list[str]:
        """What does not turn, in words; nothing of a process that is alive."""
        now = _now(now)
        with self._lock:
            return [
                f"{what} has not turned for {now - sign.at:.0f} s; {sign.within:g} s are allowed"
                for what, sign in self._turning.items()
                if sign.late(now)
            ]

    def lacking(self, now: float | None = None) -> list[str]:
        """What is missing, in words; nothing of a process that is ready."""
        now = _now(now)
        with self._lock:
            return [
                _missing(what, sign, now)
                for what, sign in self._needed.items()
                if sign is None or sign.trouble or sign.late(now)
            ]


def _missing(what: str, sign: _Sign | None, now: float) -> str:
    if sign is None:
        return f"{what}: not yet"
    return f"{what}: {sign.trouble or f'nothing heard for {now - sign.at:.0f} s'}"


def _now(given: float | None) -> float:
    return time.monotonic() if given is None else given


OWN = Health()
"""That of this process."""

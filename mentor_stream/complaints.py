"""Trouble that repeats itself, for the log: each cause now and then, with how often. No I/O."""

import re

SAY_AGAIN_SECONDS = 60.0
MOST_CAUSES = 100
"""Remembered at once: texts of endpoints are foreign."""
_LONGEST = 300


class Complaints:
    """Errors that differ by numbers alone have one cause."""

    def __init__(self) -> None:
        self._said: dict[str, float] = {}
        self._unsaid: dict[str, int] = {}

    def hear(self, error: str, now: float) -> str | None:
        """What to say of an error at this time (seconds), or None while its cause was said a moment ago."""
        text = ascii(error[:_LONGEST])[1:-1]
        cause = re.sub(r"\d+", "#", text)
        if now - self._said.get(cause, -SAY_AGAIN_SECONDS) < SAY_AGAIN_SECONDS:
            self._unsaid[cause] += 1
            return None
        others = self._unsaid.pop(cause, 0)
        self._said.pop(cause, None)
        while len(self._said) >= MOST_CAUSES:
            oldest = next(iter(self._said))
            del self._said[oldest], self._unsaid[oldest]
        self._said[cause], self._unsaid[cause] = now, 0
        return f"{text} (and {others} times more since this was last said)" if others else text

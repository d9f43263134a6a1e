"""What a rollout worker has done so far, as its metric."""

import time
from collections import Counter, deque
from dataclasses import dataclass, field

from schemas import Group, Verdict

RATE_SECONDS = 60.0


@dataclass
class Tally:
    """Totals of this process; the token rate is over the last minute, since groups come in bursts."""

    groups: int = 0
    collapsed: int = 0
    in_flight: int = 0
    """Queries that are sampled or judged at the moment."""
    verdicts: Counter[Verdict] = field(default_factory=Counter[Verdict])
    """Of trajectories."""
    refused: int = 0
    """Queries that were not sampled."""
    tokens: int = 0
    _before: deque[tuple[float, int]] = field(default_factory=lambda: deque([(time.monotonic(), 0)]))
    """When the rate was asked for within RATE_SECONDS, and once before, with the tokens then."""

    def count(self, group: Group, *, collapsed: bool) -> None:
        """Take in a group that was published."""
        verdicts = [t.verdict for t in group.trajectories]
        self.groups += 1
        self.collapsed += collapsed
        self.verdicts.update(verdicts)
        self.refused += all(v is Verdict.ABORTED for v in verdicts)
        self.tokens += group.completion_tokens

    def values(self, now: float) -> dict[str, float]:
        """The metric's values at monotonic time `now`, seconds."""
        while len(self._before) > 1 and now - self._before[1][0] >= RATE_SECONDS:
            self._before.popleft()
        since, known = self._before[0]
        seconds, tokens = now - since, self.tokens - known
        self._before.append((now, self.tokens))
        return {
            "tokens_per_second": tokens / seconds if seconds > 0 else 0.0,
            "groups": self.groups,
            "collapsed": self.collapsed,
            "refused": self.refused,
            "tokens": self.tokens,
            "in_flight": self.in_flight,
            **{verdict.value: self.verdicts[verdict] for verdict in Verdict},
        }

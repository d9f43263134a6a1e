"""What a rollout worker has done so far, as its metric."""

import time
from collections import Counter
from dataclasses import dataclass, field

from schemas import Group, Verdict


@dataclass
class Tally:
    """Totals of this process; the token rate is over the time since it was last asked for."""

    groups: int = 0
    collapsed: int = 0
    in_flight: int = 0
    """Queries that are sampled or judged at the moment."""
    verdicts: Counter[Verdict] = field(default_factory=Counter[Verdict])
    """Of trajectories."""
    refused: int = 0
    """Queries that were not sampled."""
    tokens: int = 0
    _tokens_before: int = 0
    _asked_at: float = field(default_factory=time.monotonic)

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
        seconds, tokens = now - self._asked_at, self.tokens - self._tokens_before
        self._asked_at, self._tokens_before = now, self.tokens
        return {
            "tokens_per_second": tokens / seconds if seconds > 0 else 0.0,
            "groups": self.groups,
            "collapsed": self.collapsed,
            "refused": self.refused,
            "tokens": self.tokens,
            "in_flight": self.in_flight,
            **{verdict.value: self.verdicts[verdict] for verdict in Verdict},
        }

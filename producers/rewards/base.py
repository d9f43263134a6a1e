"""What a verifier is: it judges one completion against one query, inside a worker process."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import schemas
from mentor_stream import plugins
from mentor_stream.config import ConfigError

REWARDS = "producers.rewards"
"""Where verifiers are found by name."""


class Unscorable(Exception):
    """The judge cannot judge this query at all: its reference is unreadable, a tool is missing."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verifier's word on one completion."""

    right: bool
    reward: float
    remark: str = ""
    """Why; shown to the mentor."""


class Reward(Protocol):
    """A verifier. A plugin (mentor_stream/plugins.py): `Config`, and `build(config) -> Reward`.

    A plugin may also offer `check(config)`: problems that validation of single settings cannot see, as
    texts; and `clock_seconds(config)`: how long one completion may take by the clock, where that is more than
    [reward] allows for a whole question.

    `build` and `score` run in a worker process that may be killed: plain blocking code, no state that must
    survive. Any exception but Unscorable also gives `unscorable`, never `wrong`.
    """

    def score(self, query: schemas.Query, completion: str) -> Judgement:
        """Judge a completion's text. Raises Unscorable when the query itself cannot be judged."""
        ...


def clock_seconds_of(verifier: Mapping[str, Any]) -> float:
    """What the verifier of a config table asks for one completion; 0 when it asks for nothing.

    Also when it cannot be made: whoever makes it says so.
    """
    try:
        plugin, config = plugins.configure(REWARDS, verifier, "reward.verifier")
    except ConfigError:
        return 0.0
    ask: Any = getattr(plugin, "clock_seconds", None)
    return float(ask(config)) if ask else 0.0

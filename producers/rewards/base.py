"""What a verifier is: it judges one completion against one query, inside a worker process."""

from dataclasses import dataclass
from typing import Protocol

import schemas


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
    texts. `build` and `score` run in a worker process that may be killed: plain blocking code, no state
    that must survive. Any exception but Unscorable also gives `unscorable`, never `wrong`.
    """

    def score(self, query: schemas.Query, completion: str) -> Judgement:
        """Judge a completion's text. Raises Unscorable when the query itself cannot be judged."""
        ...

"""Who is hit, in which order and how long after what: fixed by a seed, unlike what they are doing then."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "kill producer",
    "kill consumer",
    "kill everyone",
    "kill broker",
    "stall producer",
    "stall consumer",
    "stall broker",
]
"""Everyone: all workers at the same moment. A broker that was killed comes back while the rounds go on."""

Mix = Mapping[Kind, int]
"""How many rounds of each kind there are in so many."""

EARLY = 0.1
"""This share of killed producers and consumers are killed while they start, the others at work."""


@dataclass(frozen=True)
class Round:
    """One blow."""

    kind: Kind
    early: bool
    """It hits whoever started last. Otherwise one that is at work."""
    choice: float
    """Which one of those, from 0 to 1."""
    delay: float
    """Seconds to wait after the choice."""
    stall: float
    """Seconds to stop it for, when that is what happens: from a moment to long after its lease."""


def plan(seed: int, rounds: int, mix: Mix, *, lease: float) -> list[Round]:
    """So many rounds in the proportions of `mix`; `lease` is in seconds."""
    draw = random.Random(seed)
    repeats = -(-rounds // sum(mix.values()))
    kinds = draw.sample(list(mix), rounds, counts=[count * repeats for count in mix.values()])
    return [
        Round(
            kind,
            early=kind in ("kill producer", "kill consumer") and draw.random() < EARLY,
            choice=draw.random(),
            delay=draw.uniform(0, 0.5),
            stall=draw.uniform(0.2, 3) * lease,
        )
        for kind in kinds
    ]

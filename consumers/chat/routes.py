"""Which of several endpoints is asked. No I/O."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from consumers.chat.circuit import Health


@dataclass(frozen=True)
class Route:
    """An endpoint as it stands."""

    health: Health
    wakes: float
    """When its rest is over, or was."""
    load: float
    """Requests in flight or waiting, as a share of those allowed."""


def choose(routes: Sequence[Route], failed: AbstractSet[int], *, spread: bool) -> int | None:
    """The place of the endpoint to ask now, None when there is none.

    The first in order that may be asked and is not among those that failed this question already; with
    `spread` the one with the least load. One on trial is asked only if no other can be.
    """
    for allowed in ((Health.AWAKE, Health.DUE), (Health.ON_TRIAL,)):
        usable = [n for n, r in enumerate(routes) if r.health in allowed and n not in failed]
        if usable:
            return min(usable, key=lambda n: routes[n].load) if spread else usable[0]
    return None


def soonest(routes: Sequence[Route], closed: AbstractSet[int]) -> int | None:
    """The place of the endpoint that can be asked first, those that refused this question left out."""
    left = [n for n in range(len(routes)) if n not in closed]
    return min(
        left, key=lambda n: routes[n].wakes if routes[n].health is Health.RESTING else 0.0, default=None
    )

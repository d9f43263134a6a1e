"""When a component that died is started again, and when that has no use any more."""

from collections.abc import Sequence

from mentor_stream.exits import MISTAKE
from mentor_stream.supervisor.config import SupervisorConfig


def is_hopeless(code: int) -> bool:
    """Whether a component that ended with this code would end so again."""
    return code == MISTAKE


def restart_delay(deaths: Sequence[float], config: SupervisorConfig, *, jitter: float) -> float | None:
    """Seconds to wait after the last of `deaths`, or None to give up.

    `deaths` are the times of all deaths of one component so far, oldest first, in seconds of one clock,
    the last one being now; `jitter` in [0, 1) takes away up to half of the wait, so that components which
    died together do not all come back together.
    """
    recent = deaths_within_window(deaths, config)
    if recent > config.restarts:
        return None
    # The exponent is bounded as well: 2.0 ** 1024 is an OverflowError.
    doubled = config.backoff_seconds * 2.0 ** min(recent - 1, 64)
    return min(doubled, config.backoff_max_seconds) * (1 - jitter / 2)


def deaths_within_window(deaths: Sequence[float], config: SupervisorConfig) -> int:
    """How many of the deaths count: those in the window that ends with the last one."""
    return sum(deaths[-1] - death < config.restart_window_seconds for death in deaths)

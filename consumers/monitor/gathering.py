"""The facts for a verdict, from what the board knows. No I/O."""

from typing import Any

from consumers.monitor.curve import Curve
from consumers.monitor.facts import Facts
from consumers.monitor.findings import SETTLED_VERSIONS
from consumers.monitor.health import Health, Process
from consumers.monitor.lately import Lately
from consumers.monitor.measures import Measures
from consumers.refusals import VERDICTS
from mentor_stream.supervisor.figures import Figures

VERSIONS = SETTLED_VERSIONS
"""From whose rewards it is told whether they rise."""
ONE_REPORT_SECONDS = 600.0
"""For which a process may be at work on its second report: what pace it has is not known."""


def gathered(
    health: Health, measures: Measures, lately: Lately, figures: Figures, now: float, **told: Any
) -> Facts:
    """The facts at a moment; `told` are those that the broker and the last release tell."""
    curves = measures.curves
    reporting, silent = _present(health.processes(now), now)
    collapsed = figures.collapse_rate
    if collapsed is None or "trainer" in silent:
        collapsed = lately.share("rollout", "collapsed", "groups")
    hinted = lately.share("mentor", "hints", "hints", "fallbacks", "silent")
    late = [lately.share("mentor", name, "cases") for name in ("stale", "shed")]
    known: dict[str, Any] = {
        "reporting": reporting,
        "silent": silent,
        "version": figures.version if figures.steps else None,
        "rewards": _values(curves["reward"], VERSIONS),
        "accuracies": [one.accuracy for one in figures.accuracies],
        "sampling": figures.rate("rollout", "tokens_per_second", now),
        "idle": figures.idle(now),
        "waited": figures.waiting(now),
        "collapsed": collapsed,
        "rescued": figures.rescue_rate,
        "unscorable": lately.share("rollout", "unscorable", "right", "wrong", "unscorable"),
        "bad_steps": lately.grown("trainer", "bad_steps"),
        "too_late": None if late[0] is None else sum(share or 0.0 for share in late),
        "failed_calls": lately.share("mentor", "failed_calls", "cases"),
        "unanswered": figures.unanswered(now),
        "unhinted": None if hinted is None else 1.0 - hinted,
        "refused": {verdict: lately.grown("mentor", f"refused_{verdict}") for verdict in VERDICTS},
        "lessons": _lessons(figures),
        "backlog": _values(curves["mentor_backlog"], VERSIONS),
    }
    return Facts(**(known | told))


def _present(processes: list[Process], now: float) -> tuple[frozenset[str], dict[str, float]]:
    """Components of which a process reports, and those of which none does, since when."""
    reporting = frozenset(one.component for one in processes if not _is_silent(one, now))
    last: dict[str, float] = {}
    for one in processes:
        last[one.component] = max(one.reported, last.get(one.component, 0.0))
    return reporting, {name: now - time for name, time in last.items() if name not in reporting}


def _is_silent(one: Process, now: float) -> bool:
    return one.quiet(now) and (one.pace > 0 or now - one.reported > ONE_REPORT_SECONDS)


def _values(curve: Curve, count: int) -> list[float]:
    return [point.value for point in curve][-count:]


def _lessons(figures: Figures) -> tuple[int, int]:
    latest = figures.latest
    return int(latest.get("rescued_groups", 0)), int(latest.get("guided_groups", 0))

"""How a run does, in a sentence. No I/O.

The first finding that holds decides: a run whose trainer is gone is broken, however well it learned before.
"""

from typing import Literal, NamedTuple

from consumers.monitor import findings as found
from consumers.monitor.facts import Facts
from consumers.monitor.findings import Finding

State = Literal["waiting", "over", "stopped", "broken", "starved", "stalled", "early", "learning"]

ORDER: tuple[tuple[State, Finding], ...] = (
    ("waiting", found.unheard),
    ("broken", found.away),
    ("over", found.over),
    ("waiting", found.unbegun),
    ("stopped", found.stopped),
    ("broken", found.workers_silent),
    ("broken", found.unjudged),
    ("broken", found.trainer_silent),
    ("starved", found.starved),
    ("stalled", found.collapsing),
    ("stalled", found.falling),
    ("early", found.early),
    ("early", found.lessons_first),
    ("stalled", found.flat),
    ("learning", found.learning),
)
"""The last holds always."""
REMARKS: tuple[Finding, ...] = (
    found.bad_steps,
    found.letters,
    found.mentor_silent,
    found.endpoint_away,
    found.endpoint_fails,
    found.drafts_refused,
    found.mentor_late,
    found.mentor_behind,
    found.hints_fail,
    found.lessons_alone,
    found.some_unjudged,
    found.idle,
)
ENDED = ("waiting", "over", "stopped")
"""Of what does not go on only what was put aside is worth a remark."""


class Verdict(NamedTuple):
    """What is thought of a run."""

    state: State
    sentence: str
    remarks: tuple[str, ...]
    """What else is to be known."""


def verdict(facts: Facts) -> Verdict:
    """Whether the run learns, and if not, why."""
    state, finding = next(one for one in ORDER if one[1](facts))
    remarks = (found.letters,) if state in ENDED else REMARKS
    return Verdict(state, finding(facts), tuple(said for remark in remarks if (said := remark(facts))))

"""What can be said of a run, each in a sentence with what to do; empty where it does not hold. No I/O."""

from collections.abc import Callable

from consumers.monitor.facts import Facts, halves, moved
from mentor_stream.metrics import limits
from mentor_stream.metrics.signal import missing

Finding = Callable[[Facts], str]

EARLY_VERSIONS = 16
"""Before so many versions nothing is said of learning."""
SETTLED_VERSIONS = 64
"""Nor, before so many, that lessons come to nothing."""
CERTAIN = 2.0
"""Standard errors from which on a reward has moved."""
SOLVED = 0.95
"""A reward from which on it need not rise."""
UNJUDGED = 0.5
"""Of the answers; with more nothing can be learned."""
LONG_SECONDS = 60.0
"""A trainer that has waited so long for a batch is said to."""
GROWING = 3.0
"""By which factor a backlog has grown."""


def unheard(facts: Facts) -> str:
    """The broker has not answered yet."""
    return f"The broker does not answer: {facts.away}" if facts.away and not facts.heard else ""


def away(facts: Facts) -> str:
    """The broker answers no more."""
    return f"The broker does not answer: {facts.away}" if facts.away else ""


def over(facts: Facts) -> str:
    """The trainer said that it was the last version."""
    return f"The run is over{_at(facts)}.{_gained(facts)}{_lessons(facts)}" if facts.finished else ""


def unbegun(facts: Facts) -> str:
    """Nobody has reported."""
    if facts.reporting or facts.silent:
        return ""
    return "No component has reported: the run has not begun, or is a replay."


def stopped(facts: Facts) -> str:
    """Nobody reports."""
    if facts.reporting or not facts.silent:
        return ""
    since = _span(min(facts.silent.values()))
    return (
        f"Nothing has reported for {since}{_at(facts)}: components are stopped, or do not reach the broker."
        f"{_gained(facts)}"
    )


def workers_silent(facts: Facts) -> str:
    """No worker reports, and there is work."""
    if "rollout" not in facts.silent or not (facts.questions or "trainer" in facts.reporting):
        return ""
    since = _span(facts.silent["rollout"])
    return (
        f"No rollout worker has reported for {since}; {facts.questions:,} questions wait. Their logs say why."
    )


def unjudged(facts: Facts) -> str:
    """The verifier fails."""
    if facts.unscorable is None or facts.unscorable <= UNJUDGED:
        return ""
    return (
        f"{_percent(facts.unscorable)} of the answers cannot be judged. mentor-stream tail groups CONFIG "
        "--verdict unscorable shows the verifier's reasons."
    )


def trainer_silent(facts: Facts) -> str:
    """It tells even while it waits that it is there: one that does not has ended, or hangs."""
    if "trainer" not in facts.silent:
        return ""
    since = _span(facts.silent["trainer"])
    return f"The trainer has said nothing for {since}, while others report. Its log says why."


def starved(facts: Facts) -> str:
    """The trainer has nothing to do."""
    waited = facts.waited or 0.0
    begins = facts.version is None and waited < LONG_SECONDS
    if facts.idle is None or facts.idle <= limits.STARVED or begins:
        return ""
    waits = f"The trainer waits {_percent(facts.idle)} of its time"
    if waited >= LONG_SECONDS:
        waits = f"The trainer has waited for its next batch for {_span(waited)}"
    if _all_collapse(facts):
        lessons = (
            "and no mentor reports" if "mentor" not in facts.reporting else "and lessons are all there is"
        )
        return f"{waits}: {_percent(facts.collapsed)} of the questions get no right answer, {lessons}."
    if why := missing(facts.collapsed, facts.rescued):
        return f"{waits}: {why}."
    if facts.questions or facts.sampling:
        return f"{waits}: sampling is slower. More rollout workers help."
    if "feeder" in facts.silent:
        return f"{waits}: no feeder has reported for {_span(facts.silent['feeder'])}. Its log says why."
    return f"{waits}, and workers have no questions: the feeder has none, or holds them back."


def collapsing(facts: Facts) -> str:
    """Nothing can be learned, also with lessons."""
    coming = "mentor" in facts.reporting and facts.rescued is None
    if not _all_collapse(facts) or coming or (facts.rescued or 0.0) >= limits.HINTS_HELP:
        return ""
    return (
        f"{_percent(facts.collapsed)} of the questions get no right answer, and no lessons change that. "
        "mentor-stream tail collapsed CONFIG shows whether the verifier reads the answers at all."
    )


def falling(facts: Facts) -> str:
    """The reward falls."""
    if len(facts.rewards) < EARLY_VERSIONS or moved(facts.rewards) > -CERTAIN:
        return ""
    return f"The reward fell {_course(facts)}: lower trainer.lr, or go back to an earlier checkpoint."


def lessons_first(facts: Facts) -> str:
    """Before plain questions are answered, those with a hint are."""
    few = len(facts.rewards) < SETTLED_VERSIONS
    if not few or not flat(facts) or (facts.rescued or 0.0) < limits.HINTS_HELP:
        return ""
    return (
        f"The reward is still at {halves(facts.rewards)[1]:.2f} after {len(facts.rewards)} versions, while "
        f"lessons rescue {_percent(facts.rescued)} of their questions: it learns from these first."
    )


def flat(facts: Facts) -> str:
    """The reward stays where it is."""
    if len(facts.rewards) < EARLY_VERSIONS or moved(facts.rewards) >= CERTAIN:
        return ""
    _, now = halves(facts.rewards)
    if now >= SOLVED:
        return ""
    return f"The reward has stayed at {now:.2f} for {len(facts.rewards)} versions{_measured(facts)}."


def early(facts: Facts) -> str:
    """Nothing can be said."""
    if len(facts.rewards) >= EARLY_VERSIONS:
        return ""
    return f"It is too early to tell{_at(facts)}: {EARLY_VERSIONS} versions say more."


def learning(facts: Facts) -> str:
    """It does what it is for."""
    if moved(facts.rewards) < CERTAIN:
        return f"The reward is at {halves(facts.rewards)[1]:.2f}{_measured(facts)}."
    return f"The reward rose {_course(facts)}{_measured(facts)}."


def letters(facts: Facts) -> str:
    """Records were put aside."""
    if not facts.dead_letters:
        return ""
    return f"{facts.dead_letters:,} records could not be read: mentor-stream dead-letters list CONFIG."


def mentor_silent(facts: Facts) -> str:
    """No lessons come."""
    if "mentor" not in facts.silent:
        return ""
    return f"No mentor has reported for {_span(facts.silent['mentor'])}: no lessons come. Its log says why."


def mentor_late(facts: Facts) -> str:
    """Lessons come too late."""
    if facts.too_late is None or facts.too_late <= limits.TOO_LATE:
        return ""
    return (
        f"{_percent(facts.too_late)} of the cases come too late for a lesson: more mentors, or concurrency."
    )


def mentor_behind(facts: Facts) -> str:
    """Cases come faster than lessons."""
    if len(facts.backlog) < EARLY_VERSIONS or "mentor" in facts.silent:
        return ""
    before, now = halves(facts.backlog)
    if now < GROWING * max(before, 1.0):
        return ""
    return f"The mentor falls behind, {facts.backlog[-1]:,.0f} cases wait: more mentors, or concurrency."


def endpoint_fails(facts: Facts) -> str:
    """Agents cannot be asked."""
    if facts.failed_calls is None or facts.failed_calls <= limits.FAILED_CALLS:
        return ""
    return f"The mentor's endpoint fails, {facts.failed_calls:.1f} calls a case: its log says how."


def endpoint_away(facts: Facts) -> str:
    """Nothing comes of asking, and cases have not even ended yet."""
    if facts.unanswered is None:
        return ""
    return f"The mentor's endpoint has not answered for {_span(facts.unanswered)}: the mentor's log says why."


def drafts_refused(facts: Facts) -> str:
    """The guide writes, and nothing of it is published."""
    if facts.unhinted is None or facts.unhinted <= limits.REFUSED or not any(facts.refused.values()):
        return ""
    verdict = max(facts.refused, key=lambda name: facts.refused[name])
    return (
        f"{_percent(facts.unhinted)} of the cases end without a hint, since drafts are refused, mostly as "
        f"{verdict!r}: mentor-stream tail diagnoses CONFIG shows them."
    )


def hints_fail(facts: Facts) -> str:
    """Lessons do not help."""
    if facts.rescued is None or facts.rescued >= limits.HINTS_HELP:
        return ""
    return f"Lessons rescue {_percent(facts.rescued)} of their questions: read some, or take a better model."


def lessons_alone(facts: Facts) -> str:
    """All that is learned comes of lessons."""
    if not _all_collapse(facts) or collapsing(facts):
        return ""
    return f"{_percent(facts.collapsed)} of the questions get no right answer: lessons are all there is."


def some_unjudged(facts: Facts) -> str:
    """The verifier fails now and then."""
    if facts.unscorable is None or not limits.UNSCORABLE < facts.unscorable <= UNJUDGED:
        return ""
    return f"{_percent(facts.unscorable)} of the answers cannot be judged: tail groups --verdict unscorable."


def idle(facts: Facts) -> str:
    """The trainer could do more."""
    if facts.idle is None or not limits.IDLE < facts.idle <= limits.STARVED:
        return ""
    cure = missing(facts.collapsed, facts.rescued) or "more rollout workers"
    return f"The trainer waits {_percent(facts.idle)} of its time for groups: {cure}."


def bad_steps(facts: Facts) -> str:
    """Numbers that are none."""
    if not facts.bad_steps:
        return ""
    return f"{facts.bad_steps:.0f} steps had a loss or gradient that is no number: lower trainer.lr."


def _all_collapse(facts: Facts) -> bool:
    return facts.collapsed is not None and facts.collapsed > limits.ALL_COLLAPSE


def _course(facts: Facts) -> str:
    before, now = halves(facts.rewards)
    return f"from {before:.2f} to {now:.2f} within {len(facts.rewards)} versions"


def _measured(facts: Facts) -> str:
    if not facts.accuracies:
        return ""
    return f"; held-out accuracy: {facts.accuracies[0]:.2f} at first, now {facts.accuracies[-1]:.2f}"


def _gained(facts: Facts) -> str:
    if not facts.accuracies:
        return ""
    return f" Held-out accuracy went from {facts.accuracies[0]:.2f} to {facts.accuracies[-1]:.2f}."


def _lessons(facts: Facts) -> str:
    rescued, tried = facts.lessons
    return (
        f" Of {tried:,} lessons {rescued:,} rescued their question, {tried - rescued:,} did not."
        if tried
        else ""
    )


def _at(facts: Facts) -> str:
    return "" if facts.version is None else f" at version {facts.version:,}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"

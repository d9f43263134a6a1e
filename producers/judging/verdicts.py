"""What becomes of a completion after one or more attempts at judging it. Pure decisions, no I/O.

Trouble of the judge is never taken for failure of the policy; trouble that the completion makes for the
judge, every time and by itself, is: no policy may dodge a zero by hanging its judge.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from producers.rewards.base import Judgement
from schemas import Verdict


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The attempt used up its CPU time, its memory or its time by the clock."""

    resource: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The worker process could not start, crashed or was killed from outside."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The verifier raised, or called the query impossible to judge. It would do so again."""

    reason: str


Attempt = Judgement | Exhausted | Lost | Failed


@dataclass(frozen=True, slots=True)
class Score:
    """What a trajectory records of its judging. `reward` is None exactly when it is unscorable."""

    verdict: Verdict
    reward: float | None
    remark: str


def needs_another(attempts: Sequence[Attempt]) -> bool:
    """Whether to judge a completion (again), alone and on a fresh worker.

    Two exhausted attempts are its own doing, two lost ones are enough to give up; anything else is final.
    """
    exhausted = sum(isinstance(a, Exhausted) for a in attempts)
    lost = sum(isinstance(a, Lost) for a in attempts)
    return exhausted + lost == len(attempts) and max(exhausted, lost) < 2


def may_be_to_blame(attempts: Sequence[Attempt]) -> bool:
    """Whether the verdict hangs on how quickly the reference alone is judged."""
    return sum(isinstance(a, Exhausted) for a in attempts) >= 2


def settle(attempts: Sequence[Attempt], *, reference_is_quick: bool) -> Score:
    """The verdict on a completion that needs no further attempt."""
    last = attempts[-1]
    if isinstance(last, Judgement):
        verdict = Verdict.RIGHT if last.right else Verdict.WRONG
        return Score(verdict, last.reward, last.remark)
    if not isinstance(last, Exhausted):
        return Score(Verdict.UNSCORABLE, None, last.reason)
    trouble = f"judging it used up the {last.resource} allowance"
    if may_be_to_blame(attempts) and reference_is_quick:
        return Score(Verdict.WRONG, 0.0, f"{trouble}, {len(attempts)} times")
    return Score(Verdict.UNSCORABLE, None, f"{trouble}; the reference alone is no quicker")

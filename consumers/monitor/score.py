"""How a group came out."""

from dataclasses import dataclass

from schemas import Group, Verdict


@dataclass(frozen=True, slots=True)
class Score:
    """Answers that were right, that could be judged, and that there were."""

    right: int
    judged: int
    answers: int


def score_of(group: Group) -> Score:
    """The score of one group."""
    verdicts = [trajectory.verdict for trajectory in group.trajectories]
    right = verdicts.count(Verdict.RIGHT)
    return Score(right, right + verdicts.count(Verdict.WRONG), len(verdicts))

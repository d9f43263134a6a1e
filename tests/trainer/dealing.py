"""A batch dealt out to the ranks that are there, as rank 0 of a run does it."""

from collections.abc import Sequence

from schemas import Group
from trainer import ranks
from trainer.config import TrainerConfig
from trainer.learning.learner import Learner
from trainer.learning.steps import Step
from trainer.packing import encoding
from trainer.packing.shares import Share, shares


def learn(learner: Learner, groups: Sequence[Group]) -> Step | None:
    """On every rank: one step on its share of these groups."""
    return learner.step(own(groups, learner.config))


def own(groups: Sequence[Group], config: TrainerConfig) -> Share:
    """On every rank: its share, over the wire where it is not rank 0."""
    dealt = shares(groups, config)
    parts = [encoding.encode(share) for share in dealt]
    if not ranks.is_lead():
        return encoding.decode(ranks.receive_part([len(part) for part in parts]))
    if not ranks.is_alone():
        ranks.scatter(parts)
    return dealt[0]

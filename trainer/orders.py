"""What all ranks do together: rank 0 orders it and does its part, the others follow."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from torch import Tensor

from schemas import Group
from trainer import ranks, stopping
from trainer.learning.learner import Learner
from trainer.learning.steps import Step


class Train(msgspec.Struct, frozen=True, tag="train"):
    """Learn from a batch."""

    groups: tuple[Group, ...]


class Export(msgspec.Struct, frozen=True, tag="export"):
    """Take part in gathering the weights."""


class Save(msgspec.Struct, frozen=True, tag="save"):
    """Write your part of a checkpoint."""

    directory: str


class Load(msgspec.Struct, frozen=True, tag="load"):
    """Read your part of a checkpoint."""

    directory: str


class Leave(msgspec.Struct, frozen=True, tag="leave"):
    """The run ends here."""


Order = Train | Export | Save | Load | Leave


class AllRanks:
    """The learner of every rank: the same calls as a Learner's, made on rank 0 alone."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self.architecture = learner.architecture

    def step(self, groups: Sequence[Group]) -> Step | None:
        """Learn from one batch."""
        _give(Train(tuple(groups)))
        return self._learner.step(groups)

    def weights(self) -> Iterator[tuple[str, Tensor]]:
        """Each weight under its Hugging Face name, to be gone through to the end."""
        _give(Export())
        return self._learner.weights()

    def save(self, directory: Path) -> None:
        """Write the files of a checkpoint."""
        _give(Save(str(directory)))
        self._learner.save(directory)

    def load(self, directory: Path) -> None:
        """Continue from the files of a checkpoint."""
        _give(Load(str(directory)))
        self._learner.load(directory)

    def leave(self) -> None:
        """Let the other ranks end."""
        _give(Leave())


def follow(learner: Learner) -> None:
    """On every rank but 0: do what is ordered until told to leave."""
    stopping.ignore()
    while True:
        match msgspec.msgpack.decode(ranks.receive(), type=Order):
            case Train(groups):
                learner.step(groups)
            case Export():
                for _ in learner.weights():
                    pass
            case Save(directory):
                learner.save(Path(directory))
            case Load(directory):
                learner.load(Path(directory))
            case Leave():
                return


def _give(order: Order) -> None:
    if not ranks.is_alone():  # or a batch would be encoded for nobody
        ranks.send(msgspec.msgpack.encode(order))

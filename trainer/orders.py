"""What all ranks do together: rank 0 orders it and does its part, the others follow."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from torch import Tensor

from mentor_stream.config import Config
from trainer import ranks
from trainer.config import TrainerConfig
from trainer.hf import conversion
from trainer.learning.learner import Learner
from trainer.learning.steps import Step
from trainer.model import architecture
from trainer.packing import encoding
from trainer.packing.shares import Share


class Train(msgspec.Struct, frozen=True, tag="train"):
    """Learn from your share of a batch: it is scattered next."""

    sizes: tuple[int, ...]
    """Bytes of each data-parallel rank's."""


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

    def step(self, shares: Sequence[Share]) -> Step | None:
        """Learn from one batch: each data-parallel rank is sent its share of it, and no other."""
        if not ranks.is_alone():  # or a batch would be encoded for nobody
            parts = [encoding.encode(share) for share in shares]
            _give(Train(tuple(map(len, parts))))
            ranks.scatter(parts)
        return self._learner.step(shares[0])

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

    def write_policy(self, policy: Path, version: int, directory: Path) -> None:
        """What a version has made of `policy`, as a Hugging Face directory, too; version 0: the same."""
        if version == 0:
            conversion.copy_files(policy, directory)
        else:
            conversion.save(policy, self.architecture, self.weights(), directory)

    def leave(self) -> None:
        """Let the other ranks end."""
        _give(Leave())


def run(config: Config, lead: Callable[[AllRanks], int | None]) -> None:
    """Be one of the ranks, to the end: rank 0 does `lead`, the others what it orders.

    `lead` returns the signal it was stopped by, if one was: then this is SystemExit(128 + signal).
    """
    settings = config.of(TrainerConfig)
    ranks.start(
        tensor_parallel=settings.tensor_parallel,
        pipeline_parallel=settings.pipeline_parallel,
        context_parallel=settings.context_parallel,
        seed=config.run.seed,
    )
    learner = Learner(settings, config.run.policy, architecture.read(config.run.policy))
    stopped_by = None
    if ranks.is_lead():
        everyone = AllRanks(learner)
        stopped_by = lead(everyone)
        everyone.leave()
    else:
        follow(learner)
    ranks.stop()
    if stopped_by is not None:
        sys.exit(128 + stopped_by)


def follow(learner: Learner) -> None:
    """On every rank but 0: do what is ordered until told to leave."""
    while True:
        match msgspec.msgpack.decode(ranks.receive(), type=Order):
            case Train(sizes):
                learner.step(encoding.decode(ranks.receive_part(sizes)))
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
    if not ranks.is_alone():
        ranks.send(msgspec.msgpack.encode(order))

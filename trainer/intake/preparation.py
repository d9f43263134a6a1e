"""The next batch, made ready while the one before is learned. Without I/O; stream.py feeds it.

Every arrival is booked, and after each of them the next batch is cut if it is full. The version that a
batch is cut for is the number of batches cut before it, which is the version it will be trained at: so it is
no matter how far ahead of training the cut is made, and a run's course depends on the order of arrival alone.
"""

from collections.abc import Iterable
from typing import NamedTuple

from mentor_stream.config import Config, RunConfig
from mentor_stream.metrics.catalogue.trainer import ARRIVED
from mentor_stream.metrics.readings import OWN as READINGS
from mentor_stream.stream import Delivery
from schemas import Consumed, Group, RecordError
from trainer.config import TrainerConfig
from trainer.intake.batches import Arrivals, CutRule, Ledger, Pending, distance
from trainer.intake.marks import Mark, Marks
from trainer.intake.places import place_of
from trainer.intake.tally import Tally
from trainer.intake.validation import validate
from trainer.packing.shares import Share, shares


class Standing(NamedTuple):
    """How things stand after an arrival."""

    version: int = 0
    """Batches cut."""
    read: int = 0
    """Deliveries since the start, repeats among them."""
    consumed: Consumed = Consumed()
    waiting: int = 0
    """Groups that wait for a batch, with a place in the next one or without."""
    placed: int = 0
    """Groups with a place in the next one."""
    surplus: int = 0
    """Guided groups let go because batches had no place for them."""


class Bookmark(NamedTuple):
    """Where to go on: what a checkpoint keeps of the stream."""

    ledger: Ledger
    marks: tuple[Mark, ...]
    """Identity of the data: what was read last from each partition."""
    consumed_ids: bytes


class Batch(NamedTuple):
    """A batch, and how things stood when it was cut: what came since is not in it."""

    groups: list[Group]
    shares: list[Share]
    """The same, packed: one for each data-parallel rank. None yet as it is cut."""
    ages: list[int]
    """How many versions lie between each group's policies and the one in training; none without tokens."""
    tally: Tally
    """What arrived since the batch before."""
    standing: Standing
    bookmark: Bookmark


class Preparation:
    """Takes arrivals in their order and gives batches."""

    def __init__(self, config: Config, *, vocabulary: int, positions: int) -> None:
        self._run, self._settings = config.run, config.of(TrainerConfig)
        self._vocabulary, self._positions = vocabulary, positions
        self._arrivals, self._marks, self._tally = Arrivals(cut_rule(config)), Marks(), Tally()
        self._version = self._read = 0

    def resume(self, version: int, kept: Bookmark, waiting: Iterable[Delivery[Group]]) -> None:
        """Go on after so many batches, with the groups that waited then."""
        pending = [Pending(delivery.record, place_of(delivery.message)) for delivery in waiting]
        self._arrivals.restore(kept.ledger, kept.consumed_ids, pending)
        self._marks, self._version = Marks(kept.marks), version

    def problem(self, group: Group) -> RecordError | None:
        """Why a group cannot be trained on, if so."""
        try:
            validate(
                group,
                vocabulary=self._vocabulary,
                positions=self._positions,
                drop_hints=self._settings.drops_hints,
            )
        except RecordError as error:
            return error
        return None

    def arrive(self, delivery: Delivery[Group], *, collapsed: bool, usable: bool) -> Batch | None:
        """Book one; the next batch, not packed yet, if it is full now."""
        group, place = delivery.record, place_of(delivery.message)
        self._read += 1
        self._marks.note(delivery.message)
        if self._arrivals.arrive(group, place, collapsed=collapsed, usable=usable):
            self._tally.add(group, collapsed=collapsed)
            READINGS.add(ARRIVED, 1, group.query.origin.value, "yes" if collapsed else "no")
        groups = self._arrivals.cut(self._version)
        if groups is None:
            return None
        ages = [distance(group, self._version) for group in groups if group.completion_tokens]
        self._version += 1
        tally, self._tally = self._tally, Tally()
        return Batch(groups, [], ages, tally, self.standing, self.bookmark)

    def packed(self, batch: Batch) -> Batch:
        """With its shares. It takes a while, and may be called on any thread."""
        return batch._replace(shares=shares(batch.groups, self._settings))

    @property
    def standing(self) -> Standing:
        """How things stand now."""
        arrivals = self._arrivals
        return Standing(
            version=self._version,
            read=self._read,
            consumed=arrivals.consumed(self._version),
            waiting=arrivals.waiting,
            placed=arrivals.placed,
            surplus=arrivals.surplus,
        )

    @property
    def bookmark(self) -> Bookmark:
        """Where to go on from now."""
        return Bookmark(self._arrivals.ledger(), self._marks.kept(), self._arrivals.consumed_ids())

    @property
    def is_over(self) -> bool:
        """Whether the run needs no more arrivals."""
        return is_over(self._run, self._version, self._arrivals.booked.tokens)


def is_over(run: RunConfig, version: int, tokens: int) -> bool:
    """Whether a run has its batches or its tokens."""
    return (run.max_versions is not None and version >= run.max_versions) or (
        run.max_tokens is not None and tokens >= run.max_tokens
    )


def cut_rule(config: Config) -> CutRule:
    """What the config says a batch is."""
    settings = config.of(TrainerConfig)
    return CutRule(
        batch_groups=config.run.batch_groups,
        max_staleness=config.run.max_staleness,
        max_guided_fraction=settings.max_guided_fraction,
        keep_silent=settings.silent_groups == "keep",
    )

"""Which groups each version is trained on. No I/O."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from mentor_stream.config import ConfigError
from mentor_stream.stream import Delivery
from mentor_stream.topics import COLLAPSED
from schemas import Group
from trainer.intake.preparation import Preparation
from trainer.journal import Batch


def check(journal: Sequence[Batch], path: Path) -> None:
    """Raises ConfigError for batches that no run has written, though their form is right: a group twice."""
    lines: dict[str, int] = {}
    for line, batch in enumerate(journal, start=1):
        for group_id in batch.groups:
            if group_id in lines:
                raise ConfigError(
                    f"{path} line {line}: group {group_id} is there already, in line {lines[group_id]}, and "
                    "a run trains on a group once. Give the file as the run wrote it"
                )
            lines[group_id] = line


def as_recorded(journal: Sequence[Batch], arrivals: Iterator[Delivery[Group]]) -> Iterator[list[Group]]:
    """The batches of a run's journal, of its groups in the order of their time.

    Of a group that came twice the first counts. What waits for its batch is held in memory, as it was in
    training. `journal` names no group twice. Raises ConfigError for one that is not there.
    """
    left = {group_id for batch in journal for group_id in batch.groups}
    waiting: dict[str, Group] = {}
    for batch in journal:
        for group_id in batch.groups:
            while group_id not in waiting:
                delivery = next(arrivals, None)
                if delivery is None:
                    raise ConfigError(
                        f"--batches: version {batch.version + 1} was trained on group {group_id}, which is "
                        "not on that run's topics: retention took it, or these are another run's batches. "
                        "With --rebatch batches are cut of what is there"
                    )
                if delivery.record.group_id in left:
                    left.discard(delivery.record.group_id)
                    waiting[delivery.record.group_id] = delivery.record
        yield [waiting.pop(group_id) for group_id in batch.groups]


def anew(preparation: Preparation, arrivals: Iterator[Delivery[Group]]) -> Iterator[list[Group]]:
    """Batches cut by the rules of the config, as if groups arrived in the order of their time."""
    for delivery in arrivals:
        usable = preparation.problem(delivery.record) is None
        collapsed = delivery.message.topic.endswith(f".{COLLAPSED.name}")
        if batch := preparation.arrive(delivery, collapsed=collapsed, usable=usable):
            yield batch.groups

"""Which groups are trained on again: those of the journal, each once, in its order."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mentor_stream.broker import Message
from mentor_stream.config import ConfigError
from mentor_stream.stream import Delivery
from schemas import Group
from tests.builders import some_groups
from trainer import journal
from trainer.journal import Batch, Journal
from trainer.retraining.batches import as_recorded, check


def deliveries(*groups: Group) -> Iterator[Delivery[Group]]:
    for offset, group in enumerate(groups):
        yield Delivery(group, Message("run.groups", 0, offset, b"", b"", 0.0), lambda _: None)


def test_batches_are_the_journal_s_whatever_order_groups_are_read_in_and_the_first_of_a_repeat_counts():
    groups = some_groups(6)
    again = msgspec.structs.replace(groups[1], worker="another")
    ids = [group.group_id for group in groups]
    batches = [Batch(0, (ids[4], ids[1])), Batch(1, (ids[0], ids[5]))]
    read = deliveries(groups[0], groups[1], again, groups[2], groups[5], groups[4], groups[3])
    assert list(as_recorded(batches, read)) == [[groups[4], groups[1]], [groups[0], groups[5]]]


def test_a_group_that_is_twice_in_a_run_s_batches_is_named_with_both_lines():
    check([Batch(0, ("a", "b")), Batch(1, ("c",))], Path("b.jsonl"))
    with pytest.raises(ConfigError, match=r"b.jsonl line 2: group a is there already, in line 1"):
        check([Batch(0, ("a", "b")), Batch(1, ("c", "a"))], Path("b.jsonl"))
    with pytest.raises(ConfigError, match=r"b.jsonl line 1: group a is there already, in line 1"):
        check([Batch(0, ("a", "a"))], Path("b.jsonl"))


def test_a_group_that_is_not_there_any_more_is_named_with_its_version():
    one, other = some_groups(2)
    batches = [Batch(0, (one.group_id,)), Batch(1, (other.group_id,))]
    taken = as_recorded(batches, deliveries(one))
    assert next(taken) == [one]
    with pytest.raises(ConfigError, match=rf"version 2 was trained on group {other.group_id}, which is not"):
        next(taken)


def test_the_journal_that_training_writes_is_read(tmp_path: Path):
    written = Journal(tmp_path / "batches.jsonl")
    groups = some_groups(3)
    written.add(0, groups[:2])
    written.add(1, groups[2:])
    ids = [group.group_id for group in groups]
    assert journal.read(tmp_path / "batches.jsonl") == [Batch(0, tuple(ids[:2])), Batch(1, tuple(ids[2:]))]
    assert journal.read(tmp_path / "none.jsonl") == []
    with (tmp_path / "batches.jsonl").open("a") as file:
        file.write('{"version": 2, "gro')
    assert len(journal.read(tmp_path / "batches.jsonl")) == 2, "a line that is being written is none yet"

import json
import os
from pathlib import Path

import pytest

from tests.builders import a_group, a_query
from trainer.journal import Journal

GROUPS = [a_group(query=a_query(position=number)) for number in range(4)]


def lines(path: Path) -> list[tuple[int, list[str]]]:
    return [(line["version"], line["groups"]) for line in map(json.loads, path.read_text().splitlines())]


def test_a_batch_is_a_line_with_its_groups_in_order(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "batches.jsonl")
    journal.add(0, [GROUPS[1], GROUPS[0]])
    journal.add(1, GROUPS[2:])
    ids = [group.group_id for group in GROUPS]
    assert lines(tmp_path / "batches.jsonl") == [(0, [ids[1], ids[0]]), (1, ids[2:])]


def test_what_a_crash_took_back_is_forgotten_torn_lines_included(tmp_path: Path) -> None:
    path = tmp_path / "run" / "batches.jsonl"
    Journal(path).keep(0)
    journal = Journal(path)
    for version, group in enumerate(GROUPS):
        journal.add(version, [group])
    path.write_bytes(path.read_bytes() + b'{"version":4,"gro')
    journal.keep(2)
    journal.add(2, [GROUPS[3]])
    assert lines(path) == [(0, [GROUPS[0].group_id]), (1, [GROUPS[1].group_id]), (2, [GROUPS[3].group_id])]


def test_a_line_that_a_full_disk_took_in_part_is_an_error_and_is_taken_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "batches.jsonl"
    journal, write = Journal(path), os.write
    journal.add(0, [GROUPS[0]])
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:9]))
        with pytest.raises(OSError, match=r"No space left on device: .*batches\.jsonl"):
            journal.add(1, [GROUPS[1]])
    journal.keep(1)
    journal.add(1, [GROUPS[2]])
    assert lines(path) == [(0, [GROUPS[0].group_id]), (1, [GROUPS[2].group_id])]

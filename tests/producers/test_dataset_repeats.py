"""Questions that are asked again: in a dataset, and in the one that accuracy is measured on."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.datasets.base import DataConfig, Dataset, Row
from producers.datasets.reading import read
from producers.datasets.repeats import asked_in, key, warnings
from producers.datasets.spool import Spool


def load(path: Path, *rows: tuple[str, str], **settings: Any) -> Dataset:
    path.write_text("".join(json.dumps({"question": q, "answer": a}) + "\n" for q, a in rows))
    return read(path, DataConfig(train=path, **settings), "data.train")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is 2 + 2?", "what is  2 + 2 ?"),
        ("What is 2 + 2?", " What is\n2 + 2"),
        ("Où?", "Ou\u0300?"),
        ("A.", "a"),
    ],
)
def test_questions_that_differ_in_spelling_only_are_one(one: str, other: str) -> None:
    assert key(one) == key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("What is 2 + 2?", "What is 2 + 3?"), ("What is 2²?", "What is 22?"), ("x - 1", "x 1"), ("ab", "a b")],
)
def test_questions_that_differ_in_what_they_ask_are_two(one: str, other: str) -> None:
    assert key(one) != key(other)


def test_repeated_questions_are_told_and_kept(tmp_path: Path) -> None:
    dataset = load(tmp_path / "a.jsonl", ("A?", "1"), ("B?", "2"), ("a", "1"), ("b?", "3"), ("A ?", "1"))
    assert len(dataset.rows) == 5
    (warning,) = warnings([dataset], "keep")
    assert (
        "a.jsonl: 3 questions repeat earlier ones, 1 with another answer (the first: line 3 asks what line 1"
        in warning
    )
    assert 'set data.duplicates = "drop"' in warning


def test_repeated_questions_are_left_out_when_that_is_wanted(tmp_path: Path) -> None:
    rows = ("A?", "1"), ("B?", "2"), ("a", "1"), ("C?", "3")
    dataset = load(tmp_path / "a.jsonl", *rows, duplicates="drop")
    assert [row.question for row in dataset.rows] == ["A?", "B?", "C?"]
    assert dataset.digest == load(tmp_path / "b.jsonl", rows[0], rows[1], rows[3]).digest
    assert "They are left out" in warnings([dataset], "drop")[0]


def test_a_dataset_without_repeated_questions_is_nothing_to_tell_of(tmp_path: Path) -> None:
    train = load(tmp_path / "a.jsonl", ("A?", "1"), ("B?", "1"))
    heldout = load(tmp_path / "b.jsonl", ("C?", "1"))
    assert warnings([train, heldout], "keep") == []


def test_heldout_questions_that_are_trained_on_are_told(tmp_path: Path) -> None:
    train = load(tmp_path / "a.jsonl", ("A?", "1"), ("B?", "1"))
    heldout = load(tmp_path / "b.jsonl", ("C?", "1"), ("b", "2"), ("D?", "1"))
    assert asked_in(heldout, train) == [1]
    (warning,) = warnings([train, heldout], "keep")
    assert "1 of its 3 questions are in data.train as well (the first: line 2)" in warning


@given(st.lists(st.tuples(st.sampled_from("ABCD"), st.sampled_from("12")), min_size=1, max_size=12))
def test_dropping_keeps_the_first_of_each_question_in_order(rows: list[tuple[str, str]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        kept = load(Path(directory) / "a.jsonl", *rows, duplicates="drop").rows
    assert [row.question for row in kept] == list(dict.fromkeys(question for question, _ in rows))


def test_rows_without_room_on_disk_are_named_with_the_way_out() -> None:
    code = (
        "import resource; from producers.datasets.spool import Row, Spool\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, 2**16)); spool = Spool(in_memory=10)\n"
        "for n in range(99): spool.append(Row('line', 'x' * 2**15, '1', None, {}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "DatasetError" in done.stderr
    assert "no room for the questions" in done.stderr
    assert "Set TMPDIR" in done.stderr


rows = st.builds(
    Row,
    st.text(),
    st.text(),
    st.text(),
    st.none() | st.text(),
    st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
)


@given(st.lists(rows, max_size=8), st.sets(st.integers(0, 7)), st.integers(1, 200))
def test_a_spool_gives_back_what_was_put_in_from_memory_or_disk(
    given_rows: list[Row], dropped: set[int], in_memory: int
) -> None:
    spool = Spool(in_memory)
    for row in given_rows:
        spool.append(row)
    assert list(spool) == given_rows
    spool.drop(np.array(sorted(dropped), int))
    assert list(spool) == [row for place, row in enumerate(given_rows) if place not in dropped]
    assert list(reversed(spool)) == list(spool)[::-1]
    assert spool[1:3] == list(spool)[1:3]

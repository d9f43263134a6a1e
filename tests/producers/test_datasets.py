import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from producers.datasets.base import DataConfig, Dataset, DatasetError
from producers.datasets.order import row_at
from producers.datasets.reading import read

ROWS: list[dict[str, Any]] = [
    {"question": "What is 2 + 3?", "answer": "5", "why": "2 + 3 = 5", "level": 1},
    {"question": "What is 1 / 2?", "answer": 0.5, "why": "halve it", "level": 2},
    {"question": "What is 2 + 3?", "answer": "5", "why": "2 + 3 = 5", "level": 1},
]


def write(path: Path, rows: list[Any]) -> Path:
    if path.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        as_text = [row | {"answer": str(row["answer"])} for row in rows]
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(as_text), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def load(path: Path, **columns: Any) -> Dataset:
    return read(path, DataConfig(train=path, **columns), "data.train")


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_questions_are_read_in_the_order_of_the_file(tmp_path: Path, suffix: str) -> None:
    dataset = load(write(tmp_path / f"questions{suffix}", ROWS), solution="why", extra=("level",))
    assert [row.answer for row in dataset.rows] == ["5", "0.5", "5"]
    assert dataset.rows[1].solution == "halve it"
    assert dataset.rows[1].extra == {"level": "2"}


def test_the_same_questions_have_the_same_ids_in_either_format(tmp_path: Path) -> None:
    one = load(write(tmp_path / "a.jsonl", ROWS))
    other = load(write(tmp_path / "b.parquet", ROWS))
    assert one.digest == other.digest


def test_equal_rows_are_questions_of_their_own(tmp_path: Path) -> None:
    dataset = load(write(tmp_path / "a.jsonl", ROWS))
    queries = [dataset.query(row, position=row, attempt=0) for row in range(3)]
    assert len({query.query_id for query in queries}) == 3


def test_another_answer_makes_another_dataset(tmp_path: Path) -> None:
    changed = [ROWS[0] | {"answer": "6"}, *ROWS[1:]]
    one, other = (load(write(tmp_path / f"{i}.jsonl", rows)) for i, rows in enumerate((ROWS, changed)))
    assert one.digest != other.digest
    assert one.query(0, position=0, attempt=0).query_id != other.query(0, position=0, attempt=0).query_id


@pytest.mark.parametrize(
    ("value", "text"),
    [(7, "7"), (0.5, "0.5"), (True, "true"), ([1, "ä"], '[1, "ä"]'), ({"stdin": "1"}, '{"stdin": "1"}')],
)
def test_answers_that_are_no_text_become_text(tmp_path: Path, value: Any, text: str) -> None:
    dataset = load(write(tmp_path / "a.jsonl", [{"question": "?", "answer": value}]))
    assert dataset.rows[0].answer == text


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "holds no questions"),
        (b"\n  \n", "holds no questions"),
        (b'{"question": "?", "answer": "1"}\n{"question": "?"}\n', "line 2: no column 'answer'"),
        (b'{"question": "?", "answer": "1"}\n\n{"question": ', "line 3: not JSON"),
        (b'["?", "1"]', "line 1: list, expected an object"),
        (b'{"question": "\xff", "answer": "1"}', "line 1: not UTF-8"),
        (b'{"question": "?", "answer": null}', "line 1: column 'answer' is None"),
        (b'{"question": "?", "answer": NaN}', "line 1: column 'answer' is nan"),
        (b'{"question": " ", "answer": "1"}', "line 1: column 'question' is empty"),
        (b'{"question": "\\ud800", "answer": "1"}', "line 1: column 'question' holds text that is not valid"),
        (b"[" * 100_000, "line 1: not JSON"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_line_and_column(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_bytes(content)
    with pytest.raises(DatasetError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert complaint in str(caught.value)


def test_a_byte_order_mark_and_dos_line_ends_are_read_over(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"question": "?", "answer": "1"}\r\n{"question": "!", "answer": "2"}\r\n')
    assert [row.answer for row in load(path).rows] == ["1", "2"]


def test_a_missing_file_and_an_unknown_format_are_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"data.train is .*no such file"):
        load(tmp_path / "absent.jsonl")
    (tmp_path / "a.csv").touch()
    with pytest.raises(DatasetError, match=r"use .jsonl or .jsonl.gz or .parquet"):
        load(tmp_path / "a.csv")


def test_a_damaged_parquet_file_and_a_missing_column_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(DatasetError, match="not a readable Parquet file"):
        load(tmp_path / "a.parquet")
    with pytest.raises(DatasetError, match=r"row 1: no column 'frage'.*data.question"):
        load(write(tmp_path / "b.parquet", ROWS), question="frage")


@given(st.integers(1, 50), st.integers(0, 2**40), st.integers(0, 3))
@settings(deadline=None)
def test_every_epoch_holds_each_row_once(rows: int, seed: int, epoch: int) -> None:
    places = [row_at(epoch * rows + i, rows=rows, seed=seed) for i in range(rows)]
    assert {e for e, _ in places} == {epoch}
    assert Counter(row for _, row in places) == Counter(range(rows))


def test_the_order_is_the_same_on_every_machine_and_differs_by_epoch_and_seed() -> None:
    assert [row_at(p, rows=8, seed=0)[1] for p in range(8)] == FROZEN
    assert [row_at(p + 8, rows=8, seed=0)[1] for p in range(8)] != FROZEN
    assert [row_at(p, rows=8, seed=1)[1] for p in range(8)] != FROZEN


FROZEN = [7, 2, 4, 0, 5, 3, 1, 6]

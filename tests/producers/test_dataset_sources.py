"""Files, folders, saved datasets and names on the hub: all read to the same questions."""

import errno
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow
import pyarrow.parquet
import pytest

from producers.datasets import hub, jsonl, sources
from producers.datasets.base import DataConfig, Dataset, DatasetError
from producers.datasets.reading import read

ROWS = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(7)]


def load(path: Path | str, setting: str = "data.train", **columns: Any) -> Dataset:
    return read(Path(path), DataConfig(train=Path(path), **columns), setting)


def complaint(path: Path | str) -> str:
    with pytest.raises(DatasetError) as caught:
        load(path)
    assert str(caught.value).startswith(f"data.train is {str(path)!r}: ")
    return str(caught.value)


def lines(path: Path, rows: list[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def table(path: Path, rows: list[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=2)


@pytest.fixture
def one_file(tmp_path: Path) -> Dataset:
    lines(tmp_path / "all.jsonl", ROWS)
    return load(tmp_path / "all.jsonl")


def test_a_folder_of_files_is_the_dataset_that_one_file_is(tmp_path: Path, one_file: Dataset) -> None:
    for part, rows in enumerate((ROWS[:3], ROWS[3:])):
        lines(tmp_path / "lines" / f"{part}.jsonl", rows)
        table(tmp_path / "tables" / f"train-0000{part}-of-00002.parquet", rows)
    assert load(tmp_path / "lines").digest == one_file.digest
    assert load(tmp_path / "tables").digest == one_file.digest
    assert load(tmp_path / "tables").rows[3].place == "train-00001-of-00002.parquet row 1"


def test_a_file_may_be_compressed_and_half_of_one_is_refused(tmp_path: Path, one_file: Dataset) -> None:
    packed = gzip.compress((tmp_path / "all.jsonl").read_bytes())
    (tmp_path / "all.jsonl.gz").write_bytes(packed)
    assert load(tmp_path / "all.jsonl.gz").digest == one_file.digest
    for broken in (packed[:-12], b"?" + packed, packed[:20] + b"?" * 20):
        (tmp_path / "all.jsonl.gz").write_bytes(broken)
        with pytest.raises(DatasetError, match="not a whole file of gzip"):
            load(tmp_path / "all.jsonl.gz")


def test_a_file_that_came_with_a_package_is_read_without_running_it(
    tmp_path: Path, one_file: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "questionnaire").mkdir()
    (tmp_path / "questionnaire" / "__init__.py").write_text("1 / 0")
    lines(tmp_path / "questionnaire" / "data" / "all.jsonl", ROWS)
    monkeypatch.syspath_prepend(tmp_path)
    assert load("package:questionnaire/data/all.jsonl").digest == one_file.digest
    assert "there is no package 'no_such'" in complaint("package:no_such/all.jsonl")
    assert "there is no package 'a-b'" in complaint("package:a-b/all.jsonl")


def test_files_are_named_by_a_pattern(tmp_path: Path, one_file: Dataset) -> None:
    table(tmp_path / "data" / "train-0.parquet", ROWS[:3])
    table(tmp_path / "data" / "train-1.parquet", ROWS[3:])
    table(tmp_path / "data" / "test-0.parquet", ROWS)
    assert load(tmp_path / "data" / "train-*.parquet").digest == one_file.digest
    assert "no such files" in complaint(tmp_path / "data" / "dev-*.parquet")


def test_a_saved_dataset_is_read_with_its_rows_picked_and_in_order(tmp_path: Path, one_file: Dataset) -> None:
    whole = datasets.Dataset.from_list(ROWS[::-1])
    whole.select(range(6, -1, -1)).save_to_disk(tmp_path / "saved", num_shards=3)
    dataset = load(tmp_path / "saved")
    assert dataset.digest == one_file.digest
    assert dataset.rows[6].place == "row 7"


def test_of_a_saved_dataset_with_splits_one_is_to_be_named(tmp_path: Path, one_file: Dataset) -> None:
    whole = datasets.Dataset.from_list(ROWS)
    datasets.DatasetDict(train=whole, test=whole.select([0])).save_to_disk(tmp_path / "saved")
    assert "the splits test, train" in complaint(tmp_path / "saved")
    assert load(tmp_path / "saved" / "train").digest == one_file.digest


@pytest.mark.parametrize("state", [b"{", b"[]", b'{"_data_files": [{"filename": 1}]}', b"[" * 100_000])
def test_a_damaged_saved_dataset_is_named(tmp_path: Path, state: bytes) -> None:
    (tmp_path / "state.json").write_bytes(state)
    with pytest.raises(DatasetError, match=r"state\.json: not what save_to_disk writes"):
        load(tmp_path)


def test_a_saved_dataset_names_no_file_elsewhere(tmp_path: Path) -> None:
    datasets.Dataset.from_list(ROWS).save_to_disk(tmp_path / "other")
    (tmp_path / "saved").mkdir()
    file = "../other/data-00000-of-00001.arrow"
    (tmp_path / "saved" / "state.json").write_text(json.dumps({"_data_files": [{"filename": file}]}))
    with pytest.raises(DatasetError, match="not a readable Arrow file"):
        load(tmp_path / "saved")


def test_a_folder_that_is_no_one_dataset_is_named_with_what_it_holds(tmp_path: Path) -> None:
    lines(tmp_path / "both" / "train.jsonl", ROWS)
    lines(tmp_path / "both" / "test.jsonl", ROWS)
    lines(tmp_path / "mixed" / "a.jsonl", ROWS)
    table(tmp_path / "mixed" / "b.parquet", ROWS)
    (tmp_path / "clone" / "data").mkdir(parents=True)
    assert "more than one dataset (test.jsonl, train.jsonl" in complaint(tmp_path / "both")
    assert "more than one dataset" in complaint(tmp_path / "mixed")
    assert "Perhaps it is in one of data?" in complaint(tmp_path / "clone")


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:4] + bytes(60) + data[64:],
        lambda data: data.replace(b"What", b"\xff\xfe\xfd\xfc"),
    ],
    ids=["pages that are none", "text that is no UTF-8"],
)
def test_damage_inside_of_a_parquet_file_is_told_with_its_name(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    for number in range(2):
        table(tmp_path / f"part-{number}.parquet", ROWS)
    file = tmp_path / "part-1.parquet"
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist(ROWS), file, compression="none", write_statistics=False
    )
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(DatasetError, match=rf"^{file}: it cannot be read \("):
        load(tmp_path)


def test_a_file_that_vanishes_before_it_is_read_is_named(tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", ROWS)
    found = sources.records(tmp_path / "a.jsonl", "data.train")
    (tmp_path / "a.jsonl").unlink()
    with pytest.raises(DatasetError, match=r"a\.jsonl: it cannot be read \(.*No such file"):
        next(found)


def test_a_folder_that_the_disk_does_not_give_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "is_dir", refuse)
    assert "it cannot be read ([Errno 13] Permission denied)" in complaint(tmp_path)


def test_a_line_without_end_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE", 1000)
    (tmp_path / "a.jsonl").write_bytes(b'{"question": "' + b"x" * 5000)
    with pytest.raises(DatasetError, match="line 1: longer than"):
        load(tmp_path / "a.jsonl")


def test_a_dataset_of_the_hubs_library_is_read_by_its_name(
    tmp_path: Path, one_file: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library looks for OWNER/NAME in the working directory before it asks the hub."""
    lines(tmp_path / "owner" / "name" / "train.jsonl", ROWS)
    lines(tmp_path / "owner" / "name" / "test.jsonl", ROWS[:1])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    assert load("hub:owner/name").digest == one_file.digest
    assert load("hub:owner/name:train", "data.heldout").digest == one_file.digest
    assert len(load("hub:owner/name", "data.heldout").rows) == 1


def test_a_hub_out_of_reach_is_named_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    text = complaint("hub:nobody/nothing")
    assert "the hub gives no such dataset" in text
    assert "save_to_disk, and set data.train to that directory" in text


def test_without_the_library_the_hub_is_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert "pip install 'mentor-stream[hub]'" in complaint("hub:openai/gsm8k/main")


@pytest.mark.parametrize(
    "name", ["hub:", "hub:gsm8k", "hub:a/b/c/d", "hub:a/b:", "hub:a/b:c:d", "hub:../x y"]
)
def test_a_name_that_is_none_of_the_hubs_is_refused(name: str) -> None:
    with pytest.raises(DatasetError, match="expected hub:OWNER/NAME"):
        hub.records(name, "data.train")


def test_reading_a_file_needs_no_hub_library(tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", ROWS)
    code = (
        "import sys; from pathlib import Path; from producers.datasets.base import DataConfig;"
        "from producers.datasets.reading import read; path = Path(sys.argv[1]);"
        "read(path, DataConfig(train=path), 'data.train'); print('datasets' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.jsonl")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"

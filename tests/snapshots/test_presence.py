"""Which snapshots are there still."""

import shutil
from pathlib import Path

import pytest

from mentor_stream.snapshots import StoreError, present, write
from mentor_stream.snapshots.store import Store, deadline, name_of
from tests.storage import Storage


def fill(draft: Path) -> None:
    (draft / "model.bin").write_bytes(b"weights")


def test_a_directory_is_there_until_it_is_removed(tmp_path: Path) -> None:
    kept, gone = (write(tmp_path, version, fill).path for version in (1, 2))
    shutil.rmtree(gone)
    uris = [f"file://{kept}", str(kept), str(gone), f"{tmp_path}/v00000003"]
    assert present(uris) == {f"file://{kept}", str(kept)}


def test_of_a_store_what_is_whole_is_there(storage: Storage, tmp_path: Path) -> None:
    snapshot = write(tmp_path, 1, fill)
    name = name_of(1, snapshot.digest)
    Store(storage.url, deadline(30)).put(snapshot.path, name, snapshot.digest)
    there, gone = f"{storage.url}/{name}", f"{storage.url}/{name_of(2, snapshot.digest)}"
    assert present([there, gone]) == {there}


def test_a_store_that_no_package_here_knows_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> object:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("mentor_stream.snapshots.store._filesystem", missing)
    with pytest.raises(StoreError, match="Install s3fs"):
        present(["s3://bucket/run/v00000001-0123456789abcdef"], seconds=1)

"""A host's cache of what is in a store: once for all processes, whole or not at all, bounded."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mentor_stream import snapshots
from mentor_stream.snapshots import SnapshotError, StoreError, cache
from mentor_stream.snapshots.directory import Snapshot
from tests.snapshots.test_store import a_snapshot, put
from tests.storage import Gate, Storage


@pytest.fixture
def released(storage: Storage, tmp_path: Path) -> Callable[..., tuple[str, Snapshot]]:
    """Puts a snapshot into the store; its URI, and what it is here."""

    def release(version: int = 1, size: int = 1000) -> tuple[str, Snapshot]:
        snapshot = a_snapshot(tmp_path / "written", version, size)
        return f"{storage.url}/{put(storage, snapshot, version)}", snapshot

    return release


def test_what_is_held_is_what_was_released(released: Callable[..., tuple[str, Snapshot]]) -> None:
    uri, snapshot = released()
    with snapshots.hold(uri, snapshot.digest) as path:
        snapshots.verify(path, snapshot.digest)
        assert path != snapshot.path
        assert sorted(file.name for file in path.iterdir()) == [
            "config.json",
            "manifest.json",
            "model.safetensors",
        ]


def test_a_path_is_read_where_it_is_and_verified(tmp_path: Path) -> None:
    snapshot = a_snapshot(tmp_path)
    with snapshots.hold(f"file://{snapshot.path}", snapshot.digest) as path:
        assert path == snapshot.path
    (path / "config.json").write_text("[]")
    with pytest.raises(SnapshotError, match=r"config\.json is damaged"):
        snapshots.hold(str(path), snapshot.digest)


HOLD = """
import sys
from mentor_stream import snapshots
with snapshots.hold(*sys.argv[1:], seconds=60) as path:
    snapshots.verify(path, sys.argv[2])
"""


def holding(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", HOLD, *arguments])


def half_way(uri: str, snapshot: Snapshot, gate: Gate) -> subprocess.Popen[bytes]:
    """A reader that has fetched most of a snapshot of 3 MB, and waits for the rest behind the closed gate."""
    gate.passed, gate.limit = 0, 2_000_000
    reader = holding(uri, snapshot.digest)
    assert gate.closed.wait(60)
    return reader


def test_several_processes_fetch_it_once(released: Callable[..., tuple[str, Snapshot]], gate: Gate) -> None:
    uri, snapshot = released(size=3_000_000)
    before = gate.passed
    readers = [holding(uri, snapshot.digest) for _ in range(3)]
    assert [reader.wait(90) for reader in readers] == [0, 0, 0]
    assert 3_000_000 <= gate.passed - before < 4_000_000


def test_a_reader_killed_while_it_fetches_leaves_nothing_half_and_the_next_one_goes_on(
    released: Callable[..., tuple[str, Snapshot]], gate: Gate
) -> None:
    uri, snapshot = released(size=3_000_000)
    reader = half_way(uri, snapshot, gate)
    reader.kill()
    reader.wait()
    gate.let()
    assert [path.name for path in cache.directory().iterdir()] == [f".draft-{snapshot.digest}"]
    with snapshots.hold(uri, snapshot.digest) as path:
        snapshots.verify(path, snapshot.digest)
        assert [p.name for p in cache.directory().iterdir()] == [snapshot.digest]
        assert sorted(file.name for file in path.iterdir()) == [
            "config.json",
            "manifest.json",
            "model.safetensors",
        ]


def test_of_a_killed_readers_draft_whole_files_are_kept_and_what_it_left_half_is_not(
    released: Callable[..., tuple[str, Snapshot]], gate: Gate
) -> None:
    uri, snapshot = released(size=1_000_000)
    draft = cache.directory() / f".draft-{snapshot.digest}"
    draft.mkdir(parents=True)
    shutil.copy(snapshot.path / "model.safetensors", draft)
    (draft / "config.json").write_text('{"versi')
    (draft / ".0a1b2c3d").write_text("half")
    before = gate.passed
    with snapshots.hold(uri, snapshot.digest) as path:
        snapshots.verify(path, snapshot.digest)
        assert len(list(path.iterdir())) == 3
    assert gate.passed - before < 500_000


def test_few_stay_those_used_last_and_none_goes_that_is_in_use(
    released: Callable[..., tuple[str, Snapshot]],
) -> None:
    (first, *others) = [released(version) for version in range(5)]
    with snapshots.hold(first[0], first[1].digest) as held:
        os.utime(held, (0, 0))
        for number, (uri, snapshot) in enumerate(others, 1):
            with snapshots.hold(uri, snapshot.digest) as path:
                os.utime(path, (number, number))
        there = {path.name for path in cache.directory().iterdir()}
        assert there == {snapshot.digest for _, snapshot in (first, *others[1:])}, "the oldest is in use"
        snapshots.verify(held, first[1].digest)
    uri, snapshot = released(7)
    snapshots.hold(uri, snapshot.digest).close()
    there = {path.name for path in cache.directory().iterdir()}
    assert there == {snapshot.digest for snapshot in (others[2][1], others[3][1], snapshot)}
    assert len(there) == cache.KEEP


def test_a_cached_file_that_somebody_wrote_to_is_fetched_again(
    released: Callable[..., tuple[str, Snapshot]],
) -> None:
    uri, snapshot = released()
    with snapshots.hold(uri, snapshot.digest) as path:
        pass
    (path / "model.safetensors").write_text("spoiled")
    with snapshots.hold(uri, snapshot.digest) as path:
        snapshots.verify(path, snapshot.digest)


def test_a_copy_that_was_spoiled_under_a_reader_who_keeps_it_is_said_with_the_way_out(
    released: Callable[..., tuple[str, Snapshot]],
) -> None:
    uri, snapshot = released()
    with snapshots.hold(uri, snapshot.digest) as path:
        (path / "model.safetensors").write_text("spoiled")
        with pytest.raises(StoreError, match=f"in {path} is damaged, and another .*`fuser {path}`"):
            snapshots.hold(uri, snapshot.digest, seconds=1)
    with snapshots.hold(uri, snapshot.digest) as path:
        snapshots.verify(path, snapshot.digest)


def test_a_reader_that_stands_still_while_it_fetches_is_said_with_the_way_out(
    released: Callable[..., tuple[str, Snapshot]], gate: Gate
) -> None:
    uri, snapshot = released(size=3_000_000)
    reader = half_way(uri, snapshot, gate)
    try:
        reader.send_signal(signal.SIGSTOP)
        gate.let()
        draft = cache.directory() / f".draft-{snapshot.digest}"
        with pytest.raises(StoreError, match=f"fetches it into {draft} and is not done. End that process"):
            snapshots.hold(uri, snapshot.digest, seconds=1)
    finally:
        reader.kill()
        reader.wait()
    snapshots.hold(uri, snapshot.digest).close()


def test_a_snapshot_that_was_removed_is_gone_and_no_reason_to_wait(
    storage: Storage, released: Callable[..., tuple[str, Snapshot]]
) -> None:
    uri, snapshot = released()
    storage.files.rm(uri, recursive=True)
    with pytest.raises(SnapshotError, match="gone or incomplete") as caught:
        snapshots.hold(uri, snapshot.digest, seconds=600)
    assert not isinstance(caught.value, StoreError)
    assert list(cache.directory().iterdir()) == []


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("model.safetensors", r"model\.safetensors is damaged"),
        ("manifest.json", "not the one that was released"),
    ],
)
def test_a_file_damaged_in_the_store_is_named_and_nothing_of_it_stays(
    storage: Storage, released: Callable[..., tuple[str, Snapshot]], file: str, said: str
) -> None:
    uri, snapshot = released()
    storage.files.pipe_file(f"{uri}/{file}", b"something else")
    with pytest.raises(SnapshotError, match=said):
        snapshots.hold(uri, snapshot.digest)
    assert list(cache.directory().iterdir()) == []


def test_a_store_that_does_not_answer_is_given_up_in_time_and_may_answer_later(
    released: Callable[..., tuple[str, Snapshot]], gate: Gate
) -> None:
    uri, snapshot = released()
    gate.hold()
    with pytest.raises(StoreError, match="no answer in time"):
        snapshots.hold(uri, snapshot.digest, seconds=1)
    assert list(cache.directory().iterdir()) == []
    gate.let()
    snapshots.hold(uri, snapshot.digest).close()


def test_a_disk_that_is_full_is_said_with_the_way_out_and_nothing_half_stays(
    released: Callable[..., tuple[str, Snapshot]], monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, snapshot = released()

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(cache, "sync", full)
    with pytest.raises(StoreError, match=r"No space left on device.*set MENTOR_STREAM_CACHE"):
        snapshots.hold(uri, snapshot.digest)
    assert list(cache.directory().iterdir()) == []


def test_what_is_there_already_is_held_also_on_a_disk_that_can_only_be_read(
    released: Callable[..., tuple[str, Snapshot]], monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, snapshot = released()
    snapshots.hold(uri, snapshot.digest).close()

    def refuse(*_: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(cache.os, "utime", refuse)
    with snapshots.hold(uri, snapshot.digest) as path:
        snapshots.verify(path, snapshot.digest)
    (path / "model.safetensors").write_text("spoiled")
    with snapshots.hold(uri, snapshot.digest, seconds=60) as path:  # which nobody had locked
        snapshots.verify(path, snapshot.digest)


@pytest.mark.parametrize(
    ("uri", "digest"),
    [
        ("s3://bucket/v1", "../../etc"),
        ("s3://bucket/v1", ""),
        ("s3://key:secret@bucket/v1", "0" * 64),
        ("simplecache::s3://bucket", "0" * 64),
    ],
)
@pytest.mark.usefixtures("storage")
def test_a_release_that_no_trainer_of_ours_wrote_is_refused(uri: str, digest: str) -> None:
    with pytest.raises(SnapshotError, match="no release of ours"):
        snapshots.hold(uri, digest)
    assert not cache.directory().exists()


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "", "."])
def test_a_manifest_that_leads_elsewhere_is_refused(storage: Storage, name: str) -> None:
    from hashlib import sha256

    import msgspec

    manifest = msgspec.json.encode({"files": {name: "0" * 64}})
    storage.files.pipe_file(f"{storage.url}/v1/manifest.json", manifest)
    with pytest.raises(SnapshotError, match="lies elsewhere"):
        snapshots.hold(f"{storage.url}/v1", sha256(manifest).hexdigest())

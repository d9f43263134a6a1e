"""Snapshots appear whole or not at all, and damage is noticed."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mentor_stream import drafts, snapshots
from mentor_stream.snapshots import SnapshotError


def filled(text: str = "weights"):
    def fill(directory: Path) -> None:
        (directory / "model.safetensors").write_text(text)
        (directory / "config.json").write_text("{}")

    return fill


def test_a_written_snapshot_verifies_against_its_digest(tmp_path: Path) -> None:
    snapshot = snapshots.write(tmp_path, 3, filled())
    assert snapshot.path == tmp_path / "v00000003"
    snapshots.verify(snapshot.path, snapshot.digest)


def test_the_same_content_has_the_same_digest_and_other_content_another(tmp_path: Path) -> None:
    first = snapshots.write(tmp_path / "a", 1, filled())
    assert snapshots.write(tmp_path / "b", 1, filled()).digest == first.digest
    assert snapshots.write(tmp_path / "c", 1, filled("other")).digest != first.digest


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    snapshot = snapshots.write(tmp_path, 1, filled())
    (snapshot.path / "model.safetensors").write_text("weightz")
    with pytest.raises(SnapshotError, match=r"model\.safetensors is damaged"):
        snapshots.verify(snapshot.path, snapshot.digest)


def test_a_vanished_file_and_a_vanished_snapshot_are_the_same_kind_of_error(tmp_path: Path) -> None:
    snapshot = snapshots.write(tmp_path, 1, filled())
    (snapshot.path / "config.json").unlink()
    with pytest.raises(SnapshotError, match=r"config\.json is missing"):
        snapshots.verify(snapshot.path, snapshot.digest)
    with pytest.raises(SnapshotError, match="gone"):
        snapshots.verify(tmp_path / "v9", snapshot.digest)


def test_another_snapshot_in_the_same_place_is_noticed(tmp_path: Path) -> None:
    old = snapshots.write(tmp_path, 1, filled())
    new = snapshots.write(tmp_path, 1, filled("again"))
    snapshots.verify(new.path, new.digest)
    with pytest.raises(SnapshotError, match="not the one that was released"):
        snapshots.verify(old.path, old.digest)


def test_a_writer_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def fill(directory: Path) -> None:
        (directory / "half").write_text("x")
        raise OSError(28, "No space left on device")

    with pytest.raises(SnapshotError, match=r"No space left on device.*Free space"):
        snapshots.write(tmp_path, 1, fill)
    assert list(tmp_path.iterdir()) == []


def test_a_writer_killed_midway_leaves_no_snapshot_and_prune_clears_its_draft(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from mentor_stream import snapshots\n"
        "def fill(d):\n    (d / 'half').write_text('x'); os.kill(os.getpid(), signal.SIGKILL)\n"
        "snapshots.write(Path(sys.argv[1]), 1, fill)"
    )
    died = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert died.returncode == -signal.SIGKILL
    assert [p.name[:7] for p in tmp_path.iterdir()] == [".draft-"]
    snapshots.prune(tmp_path, keep=1)
    assert list(tmp_path.iterdir()) == []


def test_prune_keeps_the_newest_and_the_drafts_of_the_living(tmp_path: Path) -> None:
    for version in (1, 2, 10):
        snapshots.write(tmp_path, version, filled())
    (tmp_path / f".draft-v00000011-{os.getppid()}").mkdir()
    snapshots.prune(tmp_path, keep=2)
    assert sorted(p.name[:10] for p in tmp_path.iterdir()) == [".draft-v00", "v00000002", "v00000010"]


@pytest.mark.parametrize(
    "manifest", [b"", b"{}", b"[]", b"null", b'{"files": []}', b'{"files": {"x": 1}}', b"\xff"]
)
def test_a_manifest_that_is_none_is_damage_like_any_other(tmp_path: Path, manifest: bytes) -> None:
    (tmp_path / snapshots.MANIFEST).write_bytes(manifest)
    with pytest.raises(SnapshotError):
        snapshots.verify(tmp_path, snapshots.file_digest(tmp_path / snapshots.MANIFEST))


@pytest.mark.parametrize("uri", ["/etc/passwd", "/tmp/\0x", "/" + "x" * 5000, "relative", ""])
def test_a_place_that_is_no_snapshot_is_refused_whatever_it_is(uri: str) -> None:
    with pytest.raises(SnapshotError):
        snapshots.verify(Path(uri), "0" * 64)


def test_a_full_disk_is_named_also_when_the_writer_says_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(directory: Path) -> None:
        (directory / "half").write_text("x")
        raise RuntimeError("unexpected pos 704 vs 598")

    with pytest.raises(RuntimeError, match="unexpected pos"):
        snapshots.write(tmp_path, 1, fill)
    monkeypatch.setattr(drafts, "FULL_BYTES", 2**63)
    with pytest.raises(SnapshotError, match=r"No space left on device.*Free space"):
        snapshots.write(tmp_path, 1, fill)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_named_also_when_the_writer_wraps_it(tmp_path: Path) -> None:
    def fill(directory: Path) -> None:
        (directory / "half").write_text("x")
        raise RuntimeError("I/O error: No space left on device (os error 28)")

    with pytest.raises(SnapshotError, match="Free space or set"):
        snapshots.write(tmp_path, 1, fill)
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_raises_something_else_leaves_nothing_behind_either(tmp_path: Path) -> None:
    def fill(directory: Path) -> None:
        (directory / "half").write_text("x")
        raise KeyError("weight")

    with pytest.raises(KeyError):
        snapshots.write(tmp_path, 1, fill)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_snapshot_is_nobodys_to_count_or_remove(tmp_path: Path) -> None:
    for version in range(3):
        snapshots.write(tmp_path, version, lambda directory: (directory / "weights").write_text("x") and None)
    (tmp_path / "v1-kept-by-hand").mkdir()
    (tmp_path / "v99999999").write_text("a note")
    snapshots.prune(tmp_path, 2)
    assert [path.name for path in snapshots.versions(tmp_path)] == ["v00000001", "v00000002"]
    assert sorted(path.name for path in tmp_path.iterdir())[2:] == ["v1-kept-by-hand", "v99999999"]


def test_what_a_dead_writer_left_is_cleared_before_writing_again(tmp_path: Path) -> None:
    for owner in (999999999, os.getpid()):  # in a container every life has the same process id
        (tmp_path / f".draft-v00000001-{owner}").mkdir()

    def fill(directory: Path) -> None:
        assert [p.name for p in tmp_path.iterdir()] == [directory.name]

    snapshots.write(tmp_path, 2, fill)


def test_a_future_taken_back_is_gone_also_where_the_disk_keeps_files_for_their_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in (3, 4, 6):
        snapshots.write(tmp_path, version, filled())
    remove = shutil.rmtree

    def busy(path: Path, ignore_errors: bool = False) -> None:
        """As NFS does while a server has the files open."""
        if not ignore_errors:
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), str(path))

    monkeypatch.setattr(shutil, "rmtree", busy)
    snapshots.take_back(tmp_path, 4)
    assert [path.name for path in snapshots.versions(tmp_path)] == ["v00000003", "v00000004"]
    monkeypatch.setattr(shutil, "rmtree", remove)
    snapshots.write(tmp_path, 5, filled())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v00000003", "v00000004", "v00000005"]


def test_a_future_that_cannot_be_taken_back_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots.write(tmp_path, 6, filled())

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(SnapshotError, match=r"v00000006 could not be removed.*Read-only file system"):
        snapshots.take_back(tmp_path, 4)

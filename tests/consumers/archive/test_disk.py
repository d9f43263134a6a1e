"""A disk that is full while a file is written, and while a stream takes one in."""

import random
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from consumers.archive.draft import drafted
from consumers.archive.manifest import ArchiveError
from mentor_stream.broker import BrokerError
from tests.consumers.archive.conftest import Recorded, on
from tests.runs import as_json, mentor_stream

SMALL = 8 * 2**20


@pytest.fixture
def small_disk(tmp_path: Path) -> list[str]:
    """What to put before a command, so that `small` is a disk of 8 MB to it; it ends with what is left."""
    place = tmp_path / "small"
    place.mkdir()
    mount = f"mount -t tmpfs -o size={SMALL} tmpfs {place}"
    begin = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*begin, mount], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small file system: Linux with user namespaces")
    return [*begin, f'{mount}; "$@"; code=$?; ls -A {place} >&2; exit $code', "sh"]


@pytest.fixture
def large(recorded: Recorded) -> Recorded:
    """More than fits, and cannot be compressed."""

    async def fill(broker) -> None:
        async with broker.producer() as producer:
            for number in range(12):
                await producer.send(f"{recorded.name}.queries", b"", random.Random(number).randbytes(2**20))

    on(recorded.url, fill)
    return recorded


@pytest.mark.parametrize("name", ["out.parquet", "out.db"])
def test_a_full_disk_is_named_and_nothing_is_left_on_it(
    large: Recorded, tmp_path: Path, small_disk: list[str], name: str
):
    out = tmp_path / "small" / name
    command = [sys.executable, "-m", "mentor_stream.cli", "export", large.config, str(out)]
    done = subprocess.run([*small_disk, *command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 75, done.stderr
    told, *left = done.stderr.splitlines()
    assert told == (
        f"mentor-stream: {out} could not be written: No space left on device. Nothing is left of it. "
        "Make room, or name another file."
    )
    assert left == []


def test_a_full_disk_takes_nothing_in_and_says_so(large: Recorded, tmp_path: Path, small_disk: list[str]):
    file, to = tmp_path / "out.parquet", tmp_path / "small" / "copy.db"
    as_json("export", large.config, str(file))
    command = [sys.executable, "-m", "mentor_stream.cli", "import", str(file), str(to)]
    done = subprocess.run([*small_disk, *command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 75, done.stderr
    assert f"{to}: the disk is full. Make room" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "name", ["a*[0]?.parquet", "**.db", "ä \u202e[1].db", "run:1.parquet", "a?b#%41:.parquet", "a?b#%41.db"]
)
def test_nothing_is_left_of_a_file_whatever_it_is_called_and_it_is_read_again(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    place = tmp_path / "place"
    place.mkdir()
    (place / f".{name}.draft-999999999").write_text("of a process that was killed")
    monkeypatch.chdir(place)  # a name alone may look like a URL
    written = as_json("export", recorded.config, name)
    assert [path.name for path in place.iterdir()] == [name]
    assert as_json("import", name, "--verify")["digest"] == written["digest"]
    with suppress(RuntimeError), drafted(place / f"other-{name}", force=False) as draft:
        draft.write_text("half")
        raise RuntimeError
    assert [path.name for path in place.iterdir()] == [name]


@pytest.mark.parametrize(
    "name", ["s3://bucket/out.parquet", "gs://bucket/out.db", "\udcff.parquet", "\udcff.db"]
)
def test_what_is_no_file_s_name_is_said_and_nothing_comes_of_it(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for arguments in (
        ["export", recorded.config, name],
        ["import", name, "home"],
        ["import", name, "--verify"],
    ):
        done = mentor_stream(*arguments)
        assert done.returncode == 2
        assert "is a URL: name a file" in done.stderr or "\\udcff" in done.stderr
    assert not list(Path().iterdir())


@pytest.mark.parametrize("trouble", [None, BrokerError("the draft was removed while the run was using it")])
def test_a_folder_that_is_renamed_while_a_file_is_written_into_it_is_what_is_said(
    tmp_path: Path, trouble: BrokerError | None
):
    """Not what SQLite says of the draft, which is no run's stream."""
    folder = tmp_path / "folder"

    def write() -> None:
        with drafted(folder / "out.db", force=False) as draft:
            draft.touch()
            folder.rename(tmp_path / "renamed")
            if trouble:
                raise trouble

    with pytest.raises(ArchiveError, match=r"out\.db .* its folder was removed or renamed meanwhile. Start"):
        write()
    assert not folder.exists()


def test_a_place_where_no_file_can_be_is_not_called_full(recorded: Recorded):
    done = mentor_stream("export", recorded.config, "/proc/out.parquet")
    assert done.returncode == 2
    assert "/proc/out.parquet could not be written: No such file or directory." in done.stderr


def test_a_folder_is_not_replaced_with_force_either_and_is_not_said_to_be(recorded: Recorded, tmp_path: Path):
    (tmp_path / "out.parquet").mkdir()
    done = mentor_stream("export", recorded.config, str(tmp_path / "out.parquet"), "--force")
    assert done.returncode == 2
    assert "out.parquet is there already, and no file: name another." in done.stderr


def test_a_stream_where_nothing_may_be_written_is_not_called_damaged(
    recorded: Recorded, tmp_path: Path, small_disk: list[str]
):
    as_json("export", recorded.config, str(tmp_path / "out.db"))
    place = tmp_path / "small"
    begin = [*small_disk[:-2], f"{small_disk[-2].partition(';')[0]}; cp {tmp_path}/out.db {place}; "]
    begin[-1] += f'mount -o remount,ro {place}; exec "$@"'
    command = [sys.executable, "-m", "mentor_stream.cli", "import", f"{place}/out.db", "--verify"]
    done = subprocess.run([*begin, "sh", *command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert f"{place}/out.db lies where nothing may be written" in done.stderr
    assert "copy it to another place first" in done.stderr
    assert "damaged" not in done.stderr

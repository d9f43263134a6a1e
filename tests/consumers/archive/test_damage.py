"""What is cut off, changed or no archive at all is never taken for a run."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.consumers.archive.conftest import Recorded, on
from tests.runs import as_json, mentor_stream

KILLED = """
import os, signal, sys
from consumers.archive import exporting, restored
from tests.endpoint import Endpoint
from tests.runs import mentor_stream

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[1] == "late":
    restored.finish = exporting.Manifest = die
else:
    exporting.Tallies.add = die
mentor_stream(*sys.argv[2:])
"""


@pytest.mark.parametrize("when", ["early", "late"])
@pytest.mark.parametrize("suffix", ["parquet", "db"])
def test_what_was_killed_leaves_no_file_that_looks_whole_and_works_the_second_time(
    recorded: Recorded, tmp_path: Path, when: str, suffix: str
):
    def killed(*command: str) -> None:
        done = subprocess.run([sys.executable, "-c", KILLED, when, *command], cwd=Path(__file__).parents[3])
        assert done.returncode == -signal.SIGKILL

    files = tmp_path / "files"
    files.mkdir()
    out = files / f"out.{suffix}"
    killed("export", recorded.config, str(out))
    assert not out.exists()
    assert list(files.iterdir()), "it was killed in the middle"
    as_json("export", recorded.config, str(out))
    assert list(files.iterdir()) == [out], "nothing is left of the first"

    copy = files / "copy.db"
    killed("import", str(out), str(copy))
    assert not [name for name in on(f"sqlite:///{copy}", lambda b: b.topics()) if name.endswith(".groups")]
    assert not as_json("import", str(out), str(copy))["already_there"]
    assert recorded.messages(f"sqlite:///{copy}") == recorded.messages()


@pytest.mark.parametrize("suffix", ["parquet", "db"])
def test_whatever_is_cut_or_changed_is_refused_by_name_or_is_nothing_of_the_run(
    recorded: Recorded, tmp_path: Path, suffix: str
):
    file = tmp_path / f"out.{suffix}"
    as_json("export", recorded.config, str(file))
    data, known = file.read_bytes(), recorded.messages()
    harmed = tmp_path / f"harmed.{suffix}"
    refused = 0
    for number in range(24):
        place = number * len(data) // 24 + number % 7
        change = bytes([data[place] ^ 0x55])
        harmed.write_bytes(data[:place] if number % 4 == 0 else data[:place] + change + data[place + 1 :])
        copy = tmp_path / f"copy{number}.db"
        done = mentor_stream("import", str(harmed), str(copy))
        assert mentor_stream("import", str(harmed), "--verify").returncode == done.returncode
        if done.returncode:
            refused += 1
            assert done.returncode == 2, done.stderr
            assert f"{harmed} " in done.stderr
            if copy.exists():
                assert not on(f"sqlite:///{copy}", lambda broker: broker.topics())
        else:
            assert recorded.messages(f"sqlite:///{copy}") == known
    assert refused >= 12


def test_what_is_no_archive_is_said(recorded: Recorded, tmp_path: Path):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    (tmp_path / "text.parquet").write_text("text")
    (tmp_path / "text.db").write_text("text" * 1000)
    (tmp_path / "empty.db").touch()
    for name, problem in {
        "other.parquet": "other.parquet is no archive of a run",
        "text.parquet": "text.parquet is damaged, cut or no archive",
        "text.db": "text.db is damaged, cut or no archive",
        "stream.db": "stream.db is no archive of a run",
        "empty.db": "empty.db is empty",
        "none.db": "none.db: there is no such file",
    }.items():
        done = mentor_stream("import", str(tmp_path / name), str(tmp_path / "to.db"))
        assert done.returncode == 2
        assert problem in done.stderr, name
        assert ".." not in done.stderr, name
    assert not (tmp_path / "none.db").exists()
    assert (tmp_path / "empty.db").stat().st_size == 0, "looking makes no stream of it"

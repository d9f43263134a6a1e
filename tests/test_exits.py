"""The exit code of what is foreseen: 75 for what may pass, 2 for what somebody has to mend."""

import errno
import sqlite3
from pathlib import Path

import pytest

from mentor_stream import exits
from mentor_stream.broker import BrokerError, BrokerUnavailable, MessageTooLarge, OffsetGap, UnknownTopic
from mentor_stream.broker.sqlite.database import explained
from mentor_stream.broker.sqlite.location import parse
from mentor_stream.config import ConfigError
from mentor_stream.disk import Unwritable, writing
from mentor_stream.snapshots import SnapshotError, StoreError
from tests.runs import mentor_stream

ROOT = Path(__file__).parents[1]
AWAY = "kafka://127.0.0.1:9?connect_timeout=0.5"
FULL = OSError(errno.ENOSPC, "No space left on device", "batches.jsonl")


def made_of(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def of_sqlite(code: int) -> Exception:
    error = sqlite3.OperationalError("so it says")
    error.sqlite_errorcode = code
    return explained(error, parse("sqlite:///stream.db"))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BrokerUnavailable("nobody answers"), 75),
        (of_sqlite(sqlite3.SQLITE_FULL), 75),
        (of_sqlite(sqlite3.SQLITE_BUSY), 75),
        (of_sqlite(sqlite3.SQLITE_CORRUPT), 2),
        (StoreError("the store is away"), 75),
        (FULL, 75),
        (made_of(Unwritable("--out cannot be written"), FULL), 75),
        (made_of(Unwritable("--out cannot be written"), OSError(errno.EROFS, "Read-only")), 2),
        (BrokerError("it refuses the user name and password"), 2),
        (UnknownTopic("run.groups does not exist"), 2),
        (MessageTooLarge("a message is too large"), 2),
        (OffsetGap("messages are gone"), 2),
        (ConfigError("run.name is wrong"), 2),
        (ExceptionGroup("tasks", [BrokerUnavailable("nobody answers"), ConfigError("wrong")]), 2),
        (ExceptionGroup("tasks", [BrokerUnavailable("nobody answers"), FULL]), 75),
    ],
)
def test_a_command_and_a_component_end_alike(error: Exception, code: int):
    for of in (exits.of_command, exits.of_component):
        end = of(error)
        assert end is not None
        assert end.code == code


def test_what_nobody_foresaw_has_no_end_of_its_own():
    defect = ExceptionGroup("tasks", [BrokerUnavailable("nobody answers"), KeyError("a defect")])
    for error in (defect, made_of(KeyError("a defect"), BrokerUnavailable("nobody answers"))):
        assert exits.of_command(error) is exits.of_component(error) is None


def test_a_component_looks_for_another_snapshot_where_a_command_was_told_which():
    gone = SnapshotError("snapshot v1 is gone")
    ends = [of(gone) for of in (exits.of_component, exits.of_command)]
    assert [end and end.code for end in ends] == [75, 2]


def test_a_full_disk_passes_and_another_refusal_does_not(tmp_path: Path):
    for number, code in ((errno.ENOSPC, 75), (errno.EDQUOT, 75), (errno.EROFS, 2), (errno.EACCES, 2)):
        with pytest.raises(Unwritable) as refused, writing("--out", tmp_path):
            raise OSError(number, "no")
        end = exits.of_command(refused.value)
        assert end is not None
        assert end.code == code


@pytest.mark.parametrize(
    "command",
    [
        ["tail", "hints", "CONFIG", "--no-follow"],
        ["replay", "--from", "CONFIG", "--to", "again"],
        ["compare", "CONFIG", "CONFIG:again"],
        ["export", "CONFIG", "FOLDER/out.parquet"],
        ["retrain", "--from", "CONFIG", "--to", "FOLDER/again", "--rebatch"],
        ["topics", "list", "CONFIG"],
        ["topics", "create", "CONFIG"],
        ["topics", "describe", "CONFIG"],
        ["dead-letters", "list", "CONFIG"],
        ["dead-letters", "requeue", "CONFIG", "--all"],
        ["metrics", "export", "CONFIG", "FOLDER/points", "--to", "tensorboard"],
        ["monitor", "CONFIG", "--json"],
        ["size", "CONFIG", "--from-run"],
        ["feed", "CONFIG"],
        ["up", "CONFIG"],
    ],
    ids=lambda command: command[0],
)
def test_a_broker_that_is_away_is_worth_another_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MENTOR_STREAM__RUN__DIRECTORY", str(tmp_path / "run"))
    monkeypatch.setenv("MENTOR_STREAM__RUN__BROKER", AWAY)
    config = "examples/chain/demo.toml"
    words = [word.replace("CONFIG", config).replace("FOLDER", str(tmp_path)) for word in command]
    done = mentor_stream(*words)
    assert done.returncode == 75, done.stderr
    assert "mentor-stream: run.broker is kafka://127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr

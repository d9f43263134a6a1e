"""What a rank ends of is told once, and gives the exit code; what nobody foresaw stays a traceback."""

import errno
from pathlib import Path

import pytest

from mentor_stream.broker import BrokerUnavailable
from mentor_stream.config import ConfigError
from mentor_stream.snapshots import SnapshotError
from trainer import ending
from trainer.ending import OfAll

LOST = RuntimeError("[pair.cc:553] Connection closed by peer [127.0.0.1]:1")


def ends(error: Exception) -> object:
    """The exit code of a rank that raises it."""
    with pytest.raises(SystemExit) as end, ending.as_rank():
        raise error
    return end.value.code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("run.name is wrong"), 2),
        (SnapshotError("snapshot v1 could not be written"), 75),
        (BrokerUnavailable("nobody answers"), 75),
        (OSError(errno.ENOSPC, "No space left on device", "batches.jsonl"), 75),
        (OSError(errno.EDQUOT, "Disk quota exceeded", "batches.jsonl"), 75),
        (ExceptionGroup("tasks", [BrokerUnavailable("nobody answers")]), 75),
    ],
)
def test_what_is_foreseen_is_a_line_and_its_exit_code(
    error: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    said = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
    assert ends(error) == code
    assert capsys.readouterr().err == f"mentor-stream: {said}\n"
    with ending.expected():
        assert ends(error) == code
        assert capsys.readouterr().err == ""
        found = ending.told()
        assert found
        ending.say(found)
        assert (found.code, capsys.readouterr().err) == (code, f"mentor-stream: {said}\n")


def test_the_first_rank_is_told_of_and_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    with ending.expected():
        ends(ConfigError("first"))
        ends(ConfigError("second"))
        found = ending.told()
        assert found
        assert found.lines == ["mentor-stream: first"]
    assert ending.told() is None


def test_where_it_cannot_be_told_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The disk may be what is full."""
    monkeypatch.setenv(ending.PLACE, str(tmp_path / "gone" / "ending"))
    assert ends(ConfigError("run.name is wrong")) == 2
    assert capsys.readouterr().err == "mentor-stream: run.name is wrong\n"


def test_what_was_found_on_another_machine_is_said_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(ending.PLACE, str(tmp_path / "ending"))
    ends(ConfigError("run.name is wrong"))  # by a rank that was not started here
    with ending.expected():
        found = ending.told()
        assert found
        ending.say(found)
    assert capsys.readouterr().err == ""


def test_the_end_of_another_rank_is_a_line_and_none_once_it_has_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "3")
    with ending.expected():
        assert ends(LOST) == 1
        assert capsys.readouterr().err.startswith("trainer: rank 3 has lost another")
        ends(ConfigError("run.name is wrong"))
        assert ends(LOST) == 1
        assert capsys.readouterr().err == ""


def test_what_all_ranks_raise_is_told_by_the_first_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    assert ends(OfAll("cannot be read")) == 1
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(OfAll), ending.as_rank():
        raise OfAll("cannot be read")


def test_what_nobody_foresaw_keeps_its_traceback() -> None:
    with pytest.raises(RuntimeError, match="a defect"), ending.as_rank():
        raise RuntimeError("a defect")

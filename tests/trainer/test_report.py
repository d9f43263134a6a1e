"""What the trainer's log says while no group comes."""

import logging
from pathlib import Path

import pytest

from mentor_stream.broker import BrokerUnavailable
from mentor_stream.component import load_config
from schemas import Consumed
from tests.runs import write_config
from trainer import report
from trainer.intake import stream as trainer_stream
from trainer.intake.preparation import Standing
from trainer.report import Report

NOTHING = Standing()
TEACHES_NOTHING = Standing(read=9, consumed=Consumed(resolved=9, collapsed=9, tokens=700))


def said(
    directory: Path, caplog: pytest.LogCaptureFixture, *, broken: bool = False, standing: Standing = NOTHING
) -> str:
    config = load_config(Path(write_config(directory)))
    with trainer_stream.connect(config) as stream, caplog.at_level(logging.INFO, "trainer.report"):
        if broken:
            stream.situation = _unavailable
        Report(stream).starved(standing, batch_groups=4)
    return caplog.text


def _unavailable() -> None:
    raise BrokerUnavailable("run.broker is away")


def test_a_trainer_without_groups_says_what_it_waits_for_and_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "STARVED_SECONDS", 0.0)
    text = said(tmp_path, caplog)
    assert (
        "the next batch has 0 of 4 groups; no question was put on the stream yet: the feeder does not run"
        in text
    )


def test_guided_groups_that_must_wait_for_plain_ones_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "STARVED_SECONDS", 0.0)
    text = said(tmp_path, caplog, standing=Standing(waiting=3, placed=1))
    assert "the next batch has 1 of 4 groups, 2 guided ones are over their share; " in text


def test_a_broker_that_is_away_ends_no_trainer_that_asks_why_nothing_comes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "STARVED_SECONDS", 0.0)
    assert "why is not known: run.broker is away" in said(tmp_path, caplog, broken=True)


def test_what_is_waited_for_is_not_said_at_every_turn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert said(tmp_path, caplog) == ""


def test_groups_that_come_and_teach_nothing_are_told_like_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "STARVED_SECONDS", 0.0)
    text = said(tmp_path, caplog, standing=TEACHES_NOTHING)
    assert "9 plain groups came, 9 of them without a right answer" in text
    assert "more workers hardly" in text


def test_arrivals_put_off_no_word_on_what_is_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load_config(Path(write_config(tmp_path)))
    with trainer_stream.connect(config) as stream, caplog.at_level(logging.INFO, "trainer.report"):
        waiting = Report(stream)
        waiting.starved(NOTHING, batch_groups=4)
        monkeypatch.setattr(report, "STARVED_SECONDS", 0.0)
        waiting.starved(TEACHES_NOTHING, batch_groups=4)
    assert caplog.text.count("no batch for") == 1


def test_what_holds_between_steps_is_told_with_how_long_a_batch_is_waited_for(tmp_path: Path) -> None:
    with trainer_stream.connect(load_config(Path(write_config(tmp_path)))) as stream:
        waiting = Report(stream)
        present = waiting.present(TEACHES_NOTHING)
        assert (present["generated_tokens"], present["collapsed_groups"]) == (700, 9)
        assert present["waiting_seconds"] > 0
        with waiting.stepping():
            assert waiting.present(TEACHES_NOTHING)["waiting_seconds"] == 0

"""A run has one trainer, from whichever directory a second one is started."""

from pathlib import Path

import pytest

from mentor_stream.claims import Taken
from mentor_stream.component import load_config
from tests.runs import write_config
from trainer.intake import stream as trainer_stream


def test_a_second_trainer_of_a_run_is_refused_until_the_first_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(write_config(tmp_path))
    config = load_config(path)
    monkeypatch.setenv("MENTOR_STREAM__RUN__DIRECTORY", str(tmp_path / "elsewhere"))
    elsewhere = load_config(path)
    with trainer_stream.connect(config):
        with pytest.raises(Taken) as refused, trainer_stream.connect(elsewhere):
            pass
        for words in ("its trainer already", str(config.run.directory), "set run.name and run.directory"):
            assert words in str(refused.value)
    with trainer_stream.connect(elsewhere):
        pass

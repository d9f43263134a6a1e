"""How a component ends, for whoever watches over it."""

import json
from pathlib import Path

from tests.runs import mentor_stream, write_config


def a_run(directory: Path, broker: str) -> str:
    (directory / "train.jsonl").write_text(json.dumps({"question": "1 + 1 ?", "answer": "2"}) + "\n")
    return write_config(directory, broker=broker, data="epochs = 1")


def test_a_broker_that_is_away_is_told_from_a_mistake(tmp_path: Path):
    done = mentor_stream("feed", a_run(tmp_path, "kafka://127.0.0.1:9?connect_timeout=1"))
    assert done.returncode == 75, done.stderr
    assert "mentor-stream: run.broker is kafka://127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broker_that_cannot_be_one_is_a_mistake(tmp_path: Path):
    done = mentor_stream("feed", a_run(tmp_path, "redis://127.0.0.1"))
    assert done.returncode == 2
    assert "expected a URL" in done.stderr

"""What is said of question files before a run, and the config examples of docs/data.md."""

import json
import logging
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mentor_stream.config import load, parse_section
from producers.datasets.base import DataConfig
from producers.feeder import component
from producers.judging.judge import RewardConfig

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text()
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def problems(directory: Path, data: str, verifier: str = "math") -> list[str]:
    (directory / "run.toml").write_text(
        f"[run]\nname = 'test'\ndirectory = '{directory}'\nbroker = 'sqlite:///{directory}/s.db'\n"
        f"policy = '{directory}'\nmax_versions = 1\n[data]\n{data}\n"
        f"[reward]\nworkers = 1\nverifier = {{ kind = '{verifier}' }}\n"
    )
    return list(component.check(load(directory / "run.toml", component.sections)))


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_repeated_questions_and_those_of_both_files_are_warnings_and_no_problem(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    train = write(tmp_path / "train.jsonl", *[{"question": q, "answer": "1"} for q in ("A?", "B?", "a")])
    heldout = write(tmp_path / "test.jsonl", {"question": "b", "answer": "1"})
    with caplog.at_level(logging.WARNING):
        assert problems(tmp_path, f"train = '{train}'\nheldout = '{heldout}'", "exact") == []
    told = [record.message for record in caplog.records]
    assert len(told) == 2
    assert "train.jsonl: 1 questions repeat earlier ones (the first: line 3 asks what line 1 asks)" in told[0]
    assert "test.jsonl': 1 of its 1 questions are in data.train as well (the first: line 1)" in told[1]


@pytest.mark.parametrize(
    ("preset", "verifier", "columns"),
    [
        ("gsm8k", "code", {"question": "?", "answer": "#### 1"}),
        (
            "livecodebench",
            "math",
            {"question_content": "?", "public_test_cases": '[{"input": "", "output": "1"}]'},
        ),
    ],
)
def test_a_verifier_that_does_not_read_what_a_preset_gives_is_named(
    tmp_path: Path, preset: str, verifier: str, columns: dict[str, str]
) -> None:
    train = write(tmp_path / "train.jsonl", columns)
    first, *_ = problems(tmp_path, f"train = '{train}'\npreset = '{preset}'", verifier)
    wanted = {"gsm8k": "math", "livecodebench": "code"}[preset]
    assert first.startswith(f"reward.verifier.kind is '{verifier}', and the references of data.train")
    assert first.endswith(f'Set reward.verifier = {{ kind = "{wanted}" }}.')


def test_a_preset_with_its_own_verifier_has_no_problems(tmp_path: Path) -> None:
    train = write(tmp_path / "train.jsonl", {"question": "?", "answer": "It is 1.\n#### 1"})
    assert problems(tmp_path, f"train = '{train}'\npreset = 'gsm8k'") == []


def test_the_page_on_data_has_examples() -> None:
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.splitlines()[1][:40])
def test_an_example_of_the_page_is_a_config(example: str) -> None:
    sections = tomllib.loads(example)
    kinds = {"data": DataConfig, "reward": RewardConfig}
    assert sections.keys() <= kinds.keys()
    for table, settings in sections.items():
        parse_section(kinds[table], settings, table)


def test_the_page_names_every_setting_and_every_preset() -> None:
    for setting in DataConfig.model_fields:
        assert f"`{setting}`" in PAGE, setting
    for preset in (Path(__file__).parents[2] / "producers" / "datasets" / "presets").glob("[a-z]*.py"):
        assert f"`{preset.stem}`" in PAGE, preset

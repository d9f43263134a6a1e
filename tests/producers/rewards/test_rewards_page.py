"""docs/rewards.md: the verifier of one's own on that page works, and its settings are there."""

import os
import re
import tomllib
from pathlib import Path

import pytest

from mentor_stream import plugins
from producers.judging.judge import RewardConfig, running
from producers.rewards.base import REWARDS
from schemas import Verdict
from tests.builders import a_query

PAGE = (Path(__file__).parents[3] / "docs/rewards.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's verifier, installed with the page's entry point; workers find it, too."""
    (source,) = blocks("python")
    (entries,) = (t["project"]["entry-points"] for t in map(tomllib.loads, blocks("toml")) if "project" in t)
    ((group, offered),) = entries.items()
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package/short.py").write_text(source)
    metadata = tmp_path / "my_package-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    lines = (f"{name} = {value}" for name, value in offered.items())
    (metadata / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))


@pytest.mark.anyio
async def test_the_verifier_judges_in_a_worker_under_its_installed_name(installed: None) -> None:
    config = RewardConfig(verifier={"kind": "short", "words": 2}, workers=1)
    async with running(config) as judge:
        scores = await judge.score(a_query(reference="5"), ["It is 5", "5", "no idea"])
        (unscorable,) = await judge.score(a_query(reference=""), ["5"])
    assert [(score.verdict, score.reward) for score in scores] == [
        (Verdict.RIGHT, pytest.approx(2 / 3)),
        (Verdict.RIGHT, 1.0),
        (Verdict.WRONG, 0.0),
    ]
    assert unscorable.verdict is Verdict.UNSCORABLE


def test_the_settings_of_the_page_are_there(installed: None) -> None:
    tables = [t["reward"] for t in map(tomllib.loads, blocks("toml")) if "reward" in t]
    assert {table["verifier"]["kind"] for table in tables} >= {"choice", "code", "weighted"}
    for table in tables:
        RewardConfig(**table)
        plugins.configure(REWARDS, table["verifier"], "reward.verifier")


def test_every_option_of_the_code_verifier_is_on_the_page() -> None:
    options = plugins.load(REWARDS, "code", "kind").Config.model_fields
    (section,) = re.findall(r"^## code\n(.*?)^## ", PAGE, re.DOTALL | re.MULTILINE)
    assert [name for name in options if f"{name} =" not in section] == []

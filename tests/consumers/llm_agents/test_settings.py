"""The table of the agents and the prompts in files: what can be set, and what cannot work is named."""

import re
import tomllib
from pathlib import Path

import pytest

from consumers.guides.fdcg.agents import llm
from mentor_stream import plugins
from mentor_stream.config import ConfigError


def test_an_agents_table_that_cannot_work_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_KEY", raising=False)
    config = llm.Config(base_url="http://x/v1", model="m", judgment={"temprature": 0})
    assert "mentor.guide.agents.judgment.temprature: no such setting" in next(iter(llm.check(config)))
    with pytest.raises(ConfigError, match="temprature: no such setting"):
        llm.build(config)
    config = llm.Config(base_url="http://x/v1", model="m", judgment={"api_key_env": "NO_KEY"})
    assert list(llm.check(config)) == [
        "mentor.guide.agents.judgment.api_key_env is 'NO_KEY': this environment variable is not set."
    ]


def test_prompts_can_be_replaced_for_all_questions_or_those_of_one_domain(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    for agent in ("attribution", "generation", "judgment", "repair", "code/repair"):
        (tmp_path / f"{agent}.md").write_text(f"You are {agent}.\n---\n$question costs $$5")
    prompts = llm.build(llm.Config(base_url="http://x/v1", model="m", prompts=tmp_path))._prompts
    assert prompts["math", "repair"].system == "You are repair."
    assert prompts["math", "repair"].fill(question="$hint") == "$hint costs $5"
    assert prompts["code", "judgment"].system == "You are judgment."
    assert prompts["code", "repair"].system == "You are code/repair."
    assert prompts["math", "ranking"].system.startswith("You compare hints")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no separator", "no line ---"),
        ("a\n---\n$answer", "asks for \\$answer"),
        ("a\n---\ncosts $5", "starts no name"),
        (None, "cannot be read"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_named(tmp_path: Path, text: str | None, problem: str) -> None:
    for agent in ("attribution", "generation", "judgment", "repair"):
        if text is not None:
            (tmp_path / f"{agent}.md").write_text(text)
    config = llm.Config(base_url="http://x/v1", model="m", prompts=tmp_path)
    with pytest.raises(ConfigError, match=problem):
        llm.build(config)
    assert len(list(llm.check(config))) == 1


def test_a_key_that_is_not_set_is_named_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_KEY", raising=False)
    config = llm.Config(base_url="http://x/v1", model="m", api_key_env="NO_KEY")
    assert list(llm.check(config)) == [
        "mentor.guide.agents.api_key_env is 'NO_KEY': this environment variable is not set."
    ]


@pytest.mark.parametrize("url", ["x:8000/v1", "http://user:pass@x/v1"])
def test_a_url_without_scheme_or_with_a_secret_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        llm.Config(base_url=url, model="m")


@pytest.mark.parametrize(("url", "model"), [("http://", "m"), ("https:///v1", "m"), ("http://x/v1", "")])
def test_an_endpoint_without_host_or_model_is_refused(url: str, model: str) -> None:
    with pytest.raises(ValueError, match=r"base_url|model"):
        llm.Config(base_url=url, model=model)


def test_the_built_in_prompts_can_be_used() -> None:
    assert list(llm.check(llm.Config(base_url="http://x/v1", model="m"))) == []


def test_the_example_in_the_docs_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[3] / "docs" / "mentor.md").read_text()
    (example,) = re.findall(r"```toml\n(\[mentor.guide.agents\]\n.*?)```", page, re.DOTALL)
    table = tomllib.loads(example)["mentor"]["guide"]["agents"]
    monkeypatch.setenv("MENTOR_API_KEY", "sk-any")
    assert plugins.check("consumers.guides.fdcg.agents", table, "mentor.guide.agents") == []

"""The configs of the demo and of its controls: sound, and alike but for what they compare."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from examples.chain import make_questions, task
from mentor_stream.component import check, load_config
from mentor_stream.prompts import PromptConfig, user_text
from tests.examples.chain import a_question

CHAIN = Path("examples/chain")
NAMES = ("demo", "vanilla", "filter", "static", "vllm")


def settings(name: str) -> dict[str, Any]:
    """Every setting that a config spells out, by its full name."""

    def flat(table: dict[str, Any], prefix: str) -> dict[str, Any]:
        found = {}
        for key, value in table.items():
            found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
        return found

    return flat(tomllib.loads((CHAIN / f"{name}.toml").read_text()), "")


def of_no_mentor(name: str) -> bool:
    return name.startswith("mentor.") or name in ("trainer.max_guided_fraction", "trainer.hint_context")


@pytest.mark.parametrize("name", NAMES)
def test_a_config_is_sound(name: str) -> None:
    check(load_config(CHAIN / f"{name}.toml"))


@pytest.mark.parametrize(
    ("name", "guide", "silent_groups"), [("vanilla", "none", "keep"), ("filter", "filter", "replace")]
)
def test_a_control_differs_from_the_demo_in_what_it_compares_only(
    name: str, guide: str, silent_groups: str
) -> None:
    demo, control = settings("demo"), settings(name)
    places = {"run.name", "run.directory", "run.broker", "supervisor.mentor_workers"}
    changed = {key for key in demo.keys() | control.keys() if demo.get(key) != control.get(key)} - places
    assert not {key for key in changed if not of_no_mentor(key)} - {"trainer.silent_groups"}
    assert (control["mentor.guide.kind"], control["trainer.silent_groups"]) == (guide, silent_groups)


def test_prepared_hints_differ_from_the_demo_in_the_guide_and_its_rounds_only() -> None:
    demo, static = settings("demo"), settings("static")
    places = {"run.name", "run.directory", "run.broker"}
    changed = {key for key in demo.keys() | static.keys() if demo.get(key) != static.get(key)} - places
    assert {key for key in changed if not key.startswith("mentor.guide.")} == {"mentor.max_rounds"}
    assert static["mentor.max_rounds"] == len(make_questions.HINTED)


def test_the_demo_with_vllm_differs_from_the_demo_in_its_engines_only() -> None:
    demo, vllm = settings("demo"), settings("vllm")
    places = {"run.name", "run.directory", "run.broker"}
    changed = {key for key in demo.keys() | vllm.keys() if demo.get(key) != vllm.get(key)} - places
    assert {key for key in changed if ".engine." not in key} == set()
    assert (vllm["rollout.engine.kind"], vllm["evaluate.engine.kind"]) == ("vllm", "transformers")


def test_no_two_of_them_share_a_place() -> None:
    for key in ("run.name", "run.directory", "run.broker"):
        assert len({settings(name)[key] for name in NAMES}) == len(NAMES)


def test_a_hinted_prompt_reads_as_in_the_warm_start() -> None:
    config = load_config(CHAIN / "demo.toml").of(PromptConfig)
    question, hint = a_question(), task.Hint(4, 66)
    assert user_text(config, str(question), None) == str(question)
    assert user_text(config, str(question), str(hint)) == f"Hint: after step 4 the value is 66.\n{question}"

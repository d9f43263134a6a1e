"""Critiques of a failed attempt, by a real HTTP server that behaves and misbehaves, on a real stream."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from consumers import evidence
from consumers.guides.critique.guide import Critique
from consumers.guides.critique.lesson import forms
from mentor_stream import plugins
from schemas import FinishReason, Group, Outcome
from tests.builders import a_group, a_query, a_trajectory
from tests.consumers.lessons import a_collapsed_group, taught
from tests.consumers.scripted import a_case
from tests.endpoint import Endpoint, Trouble, critique
from tests.runs import as_process

pytestmark = pytest.mark.anyio

SAID = "The carry of the first step is dropped."
ATTEMPT = "Two and three make 4."


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        yield server


def a_table(url: str, **options: Any) -> dict[str, Any]:
    quick = {"base_url": url, "model": "critic", "first_pause_seconds": 0.01, "attempts": 2}
    return {"kind": "critique"} | quick | options


def a_guide(endpoint: Endpoint, **options: Any) -> Critique:
    return plugins.build("consumers.guides", a_table(endpoint.url, **options), "mentor.guide")


def a_group_of(*texts: str) -> Group:
    return a_collapsed_group(a_query(), *texts)


# which attempt


def test_the_attempt_with_the_most_frequent_wrong_answer_is_criticised() -> None:
    tried = ("first add, then 9", "first add, then 7", "the answer is 6", "first add, then 8", "Sum: 6")
    assert evidence.typical(a_group_of(*tried)).text == "the answer is 6"


def test_where_no_two_answers_agree_the_attempt_closest_to_all_is_criticised() -> None:
    tried = ("x y z 1", "a b c d 2", "a b c e 3", "a b q 4")
    assert evidence.typical(a_group_of(*tried)).text == "a b c d 2"


def test_an_attempt_that_was_cut_off_is_criticised_only_if_all_were() -> None:
    cut = replace(a_trajectory(text="a b c 4"), finish_reason=FinishReason.LENGTH)
    group = replace(a_group("W"), trajectories=(cut, cut, a_trajectory(text="x y 7")))
    assert evidence.typical(group).text == "x y 7"
    assert evidence.typical(replace(group, trajectories=(cut, cut))).text == "a b c 4"


@given(st.lists(st.text(alphabet="ab 12.", max_size=12), min_size=1, max_size=6))
def test_one_of_the_attempts_is_chosen_and_always_the_same(texts: list[str]) -> None:
    chosen = evidence.typical(a_group_of(*texts)).text
    assert chosen in texts
    assert evidence.typical(a_group_of(*texts)).text == chosen


# the lesson


@given(st.text(), st.text(), st.integers(0, 300).map(lambda n: 2 * n))
def test_forms_grow_shorter_and_end_with_the_critique_alone(said: str, attempt: str, characters: int) -> None:
    lessons = forms(said, attempt, characters)
    assert list(lessons)[-1] == "critique alone"
    assert all(said in lesson for lesson in lessons.values())
    assert ("attempt and critique" in lessons) == bool(attempt.strip() and characters)
    if 0 < len(attempt.strip()) <= characters:
        assert attempt.strip() in lessons["attempt and critique"]


async def test_the_attempt_and_its_critique_come_before_the_question(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    found = await taught(tmp_path, a_guide(endpoint), a_query(), attempts=(ATTEMPT,) * 3)
    (hint,) = found.hints
    assert ATTEMPT in hint
    assert SAID in hint
    (diagnosis,) = found.diagnoses
    assert (diagnosis.outcome, diagnosis.reason) == (Outcome.HINT, "attempt and critique")
    assert [(c.agent, c.passed) for c in diagnosis.calls] == [
        ("critique", None),
        ("leak_guard", True),
        ("budget", True),
    ]
    assert (diagnosis.calls[0].result, diagnosis.calls[0].model) == (SAID, "critic")
    assert (diagnosis.prompt_tokens, diagnosis.completion_tokens) == (100, 10)


async def test_the_critic_knows_the_answer_the_verifiers_words_and_earlier_hints_as_data(
    endpoint: Endpoint,
) -> None:
    query = replace(a_query(), solution="Three steps from two.")
    group = replace(
        a_group("W", query=query), trajectories=(a_trajectory(text="$all: 4", remark="off by one"),)
    )
    await a_guide(endpoint).teach(a_case(group=group, earlier=("Count.",)))
    (asked,) = endpoint.asked("critique")
    for words in ("Three steps from two.", "$all: 4\n[verifier: off by one]", "Count.", "4 (1 of 1)"):
        assert words in asked
    assert "off by one" not in (await a_guide(endpoint).teach(a_case(group=group))).hint


async def test_a_program_is_criticised_without_showing_the_critic_all_tests(endpoint: Endpoint) -> None:
    tests = {"inputs": [f"{n}\\n" for n in range(5000)], "outputs": [f"{n}\\n" for n in range(5000)]}
    group = a_group("W", query=a_query("Echo.", json.dumps(tests)))
    failed = (
        a_trajectory(text="print(1)", remark="test 7: wrong"),
        a_trajectory(text="print(2)", remark="none"),
    )
    lesson = await a_guide(endpoint).teach(a_case(group=replace(group, trajectories=(*failed, failed[0]))))
    (asked,) = endpoint.asked("critique")
    assert "about the program" in endpoint.requests[0]["messages"][0]["content"]
    assert "test 7: wrong (2 of 3)" in asked
    assert len(asked) < 3000
    assert "print(1)" in lesson.hint


async def test_a_long_attempt_is_shortened_to_the_critics_context(endpoint: Endpoint) -> None:
    guide = a_guide(endpoint, context_tokens=2000, max_tokens=500, attempt_characters=20_000)
    await guide.teach(a_case(group=a_group_of("word " * 4000)))
    assert len(endpoint.asked("critique")[0]) < 4500
    hopeless = a_guide(endpoint, context_tokens=600, max_tokens=500)
    lesson = await hopeless.teach(a_case())
    assert lesson.outcome is Outcome.SILENT
    assert "context_tokens is 600" in lesson.reason


async def test_without_the_response_only_the_critique_is_shown(endpoint: Endpoint) -> None:
    lesson = await a_guide(endpoint, show_response=False).teach(a_case(group=a_group_of(ATTEMPT)))
    assert lesson.hint
    assert ATTEMPT not in lesson.hint
    assert lesson.reason == "critique alone"


async def test_an_attempt_in_which_the_answer_stands_is_not_shown(tmp_path: Path, endpoint: Endpoint) -> None:
    attempt = f"First I thought of 5. {'Then I went on. ' * 100}So it is 4."
    found = await taught(tmp_path, a_guide(endpoint), a_query(), attempts=(attempt,) * 2)
    assert "went on" not in found.hints[0]
    assert SAID in found.hints[0]
    assert [c.passed for c in found.diagnoses[0].calls if c.agent == "leak_guard"] == [False, True]


async def test_a_critique_that_leaks_is_written_afresh_with_the_objection_and_never_published(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    endpoint.answers["critique"] = [critique("It should be 5, not 4."), critique(SAID)]
    found = await taught(tmp_path, a_guide(endpoint), a_query(), attempts=(ATTEMPT,))
    assert [SAID in hint for hint in found.hints] == [True]
    assert [c.draft for c in found.diagnoses[0].calls if c.agent == "critique"] == [0, 1]
    again = endpoint.asked("critique")[1]
    assert "It should be 5, not 4.\nObjection: the hint gives the answer away: 5" in again


async def test_a_critic_that_keeps_leaking_is_silence(tmp_path: Path, endpoint: Endpoint) -> None:
    endpoint.answers["critique"] = [critique("It is 5.")]
    found = await taught(tmp_path, a_guide(endpoint, max_retry=2), a_query(), attempts=(ATTEMPT,))
    assert found.guided == []
    assert found.diagnoses[0].outcome is Outcome.SILENT
    assert "gives the answer away" in found.diagnoses[0].reason
    assert len(endpoint.asked("critique")) == 3


@pytest.mark.parametrize(
    ("room", "reason"),
    [
        (350, "attempt and critique"),
        (250, "shortened attempt and critique"),
        (60, "critique alone"),
        (20, ""),
    ],
)
async def test_where_room_is_short_the_attempt_is_shortened_then_left_out_then_there_is_silence(
    tmp_path: Path, endpoint: Endpoint, room: int, reason: str
) -> None:
    guide = a_guide(endpoint, response_characters=600, max_retry=0)
    found = await taught(tmp_path, guide, a_query(), attempts=("a b " * 200,), most_words=room)
    (diagnosis,) = found.diagnoses
    if reason:
        assert (diagnosis.outcome, diagnosis.reason) == (Outcome.HINT, reason)
    else:
        assert (diagnosis.outcome, found.guided) == (Outcome.SILENT, [])
        assert "too long" in diagnosis.reason


async def test_a_refusal_or_an_error_message_is_no_critique(endpoint: Endpoint) -> None:
    endpoint.answers["critique"] = [critique("I'm sorry, I can't help with that.")]
    lesson = await a_guide(endpoint).teach(a_case())
    assert (lesson.outcome, lesson.reason) == (Outcome.SILENT, "the draft is a refusal, no hint")


@pytest.mark.parametrize("trouble", [t for t in Trouble if t not in (Trouble.SLOW, Trouble.NAN_USAGE)])
async def test_trouble_of_the_endpoint_is_silence_with_its_reason(
    endpoint: Endpoint, trouble: Trouble
) -> None:
    endpoint.answers["critique"] = [trouble]
    lesson = await a_guide(endpoint).teach(a_case())
    assert (lesson.outcome, lesson.hint) == (Outcome.SILENT, None)
    assert lesson.reason.startswith("critique failed: ")
    assert lesson.calls[0].error
    assert "sk-secret" not in lesson.reason


async def test_an_endpoint_that_is_not_there_is_silence_with_its_reason() -> None:
    with Endpoint() as gone:
        guide = a_guide(gone)
    lesson = await guide.teach(a_case())
    assert lesson.outcome is Outcome.SILENT
    assert "cannot be reached" in lesson.reason


def test_the_check_command_names_what_cannot_work(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "critique.md").write_text("You correct.\n---\n$attemt")
    (tmp_path / "run.toml").write_text(
        "[run]\nname = 'x'\ndirectory = 'x'\nbroker = 'sqlite:///x.db'\npolicy = '.'\nmax_versions = 1\n"
        "[data]\ntrain = 'train.jsonl'\n[mentor.guide]\nkind = 'critique'\nbase_url = 'http://x/v1'\n"
        "model = 'm'\nprompts = 'prompts'\napi_key_env = 'NO_SUCH_KEY'\n"
    )
    said = as_process("check", "run.toml", cwd=tmp_path).stderr
    assert "mentor.guide.api_key_env is 'NO_SUCH_KEY': this environment variable is not set." in said
    assert "mentor.guide.prompts: prompt prompts/critique.md asks for $attemt" in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"base_url": "localhost"}, "mentor.guide.base_url is 'localhost': expected http://"),
        ({"response_characters": 0}, "mentor.guide.response_characters is 0"),
        ({"prompts": "nowhere"}, "mentor.guide.prompts: prompt nowhere/critique.md cannot be read"),
        ({"max_retries": 1}, "mentor.guide.max_retries: no such setting. Did you mean max_retry?"),
    ],
)
def test_options_that_cannot_work_are_named(options: dict[str, Any], words: str) -> None:
    (problem,) = plugins.check("consumers.guides", a_table("http://x/v1", **options), "mentor.guide")
    assert words in problem

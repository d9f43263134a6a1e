"""Failed questions as they are asked again: as a rollout worker asks them, and nothing twice."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from mentor_stream import topics
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import LengthLimits, RolloutConfig, length_limits
from mentor_stream.stream import connect
from producers.examiner import Examiner
from producers.rescue.trials import Case, question_id, trial_id, trials
from producers.rollout import RolloutWorker
from producers.tokenizer import PolicyTokenizer
from schemas import Hint, Origin, Query
from tests.builders import a_guided_query, a_query
from tests.producers.conftest import write_policy, write_tokenizer
from tests.producers.scripted import ScriptedEngine, ScriptedJudge, a_config, arrived, release

CHAT = "{% for m in messages %}{{ m.role }} : {{ m.content }} {% endfor %}yes"
LIMITS = LengthLimits(prompt=64, completion=8, context=None)


def a_hint(text: str, question: Query) -> Hint:
    hint = a_guided_query(question, text).hint
    assert hint
    return hint


@pytest.mark.anyio
@pytest.mark.parametrize("chat", [None, CHAT])
async def test_prompts_and_refusals_are_those_of_a_rollout_worker(tmp_path: Path, chat: str | None):
    write_policy(tmp_path / "policy")
    write_tokenizer(tmp_path / "policy", chat)
    prompt = PromptConfig(
        template="What is {question} ?", hint_template="Hint: {hint} + {question}", max_prompt_tokens=20,
        system="no" if chat else None,
    )  # fmt: skip
    config = a_config(tmp_path, tmp_path / "policy", RolloutConfig(group_size=2, max_new_tokens=8), prompt)
    tokenizer, engine = PolicyTokenizer(tmp_path / "policy", prompt), ScriptedEngine()
    questions = [a_query(f"{number} + 4", "6", position=number) for number in range(3)]
    guided = [
        a_guided_query(question, hint)
        for question, hint in zip(questions, ("1 2", "no 1 {question}", "1 " * 20), strict=True)
    ]
    async with connect(config.run.broker, "test", "rollout") as stream:
        examiner: Any = Examiner(engine, ScriptedJudge(), tokenizer)  # type: ignore[arg-type]
        for query in (*questions, *guided):
            await stream.publish(topics.GUIDED if query.hint else topics.QUERIES, query)
        await release(stream, tmp_path, 0)
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(RolloutWorker(config, stream, examiner).work)
                groups = await arrived(stream, topics.GROUPS, 6)
                tasks.cancel_scope.cancel()
    cases = [Case(question, (lesson.hint,)) for question, lesson in zip(questions, guided, strict=True)]
    found = trials(cases, tokenizer, length_limits(config))
    assert len(groups) == len(found.asked) + len(found.refused) == 6
    for group in groups:
        question = replace(group.query, origin=Origin.PLAIN, hint=None)
        name, first = trial_id(question, group.query.hint), group.trajectories[0]
        if name in found.refused:
            assert first.remark == f"refused: {found.refused[name]}"
        else:
            assert found.asked[name].prompt_ids == first.prompt_ids.numpy().tolist()
    assert len(found.refused) == 1


def test_what_is_the_same_is_asked_once_whichever_run_or_round_it_is_of(tiny_policy: Path):
    tokenizer = PolicyTokenizer(tiny_policy, PromptConfig())
    one, other = a_query("2 + 2 ?", position=0), a_query("3 + 2 ?", position=1)
    again = replace(one, query_id="in the next epoch", attempt=1)
    cases = [
        Case(one, (a_hint("1", one), replace(a_hint("1", one), guide="another"))),
        Case(again, (a_hint("2", one), a_hint("1", one))),
        Case(other, (a_hint("1", other), None)),
        Case(None, (a_hint("1", other), a_hint("2", other))),
    ]
    found = trials(cases, tokenizer, LIMITS)
    asked = sorted(
        (q.query.question, q.query.hint.text if q.query.hint else "") for q in found.asked.values()
    )
    assert asked == [("2 + 2 ?", ""), ("2 + 2 ?", "1"), ("2 + 2 ?", "2"), ("3 + 2 ?", ""), ("3 + 2 ?", "1")]
    assert list(found.asked) == list(trials(cases[::-1], tokenizer, LIMITS).asked) == sorted(found.asked)


def test_a_verifier_sees_the_hint_that_was_given_and_none_where_none_was(tiny_policy: Path):
    question, tokenizer = a_query("2 + 2 ?"), PolicyTokenizer(tiny_policy, PromptConfig())
    hint = a_hint("1", question)
    found = trials([Case(question, (hint, None))], tokenizer, LIMITS)
    assert found.asked[trial_id(question, hint)].query.hint == hint
    assert found.asked[trial_id(question, None)].query.hint is None


@pytest.mark.parametrize("change", [{"question": "3 ?"}, {"reference": "9"}, {"extra": {"tests": "other"}}])
def test_another_reference_is_another_question(change: dict[str, Any]):
    question = a_query()
    assert question_id(replace(question, **change)) != question_id(question)
    assert trial_id(replace(question, **change), None) != trial_id(question, None)
    assert question_id(replace(question, position=7, query_id="x")) == question_id(question)

"""The scripted mentor against the truth, alone and within the pipeline that LLM agents use."""

from collections.abc import Awaitable, Callable, Sequence
from math import prod
from typing import TypeVar

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.guides.base import Case
from consumers.guides.fdcg.agents.base import AgentError, Agents, Attribution, Flaw
from examples.chain import task
from examples.chain.mentor_agents import LAST_HINT, error_counts, step_to_reveal
from mentor_stream import plugins
from schemas import Outcome
from tests.builders import a_group
from tests.examples.chain import a_case, a_question, forgetful_at

R = TypeVar("R")
GUIDE = {"kind": "fdcg", "agents": {"kind": "examples.chain.mentor_agents"}, "fallback": ""}
QUESTION = a_question(3)
RIGHT = QUESTION.values()

counts = st.lists(st.integers(0, 8), min_size=task.STEPS, max_size=task.STEPS)
attempts = st.lists(st.sets(st.integers(1, task.STEPS)), min_size=2, max_size=8)


@pytest.fixture
def agents() -> Agents:
    table = {"kind": "examples.chain.mentor_agents"}
    return plugins.build("consumers.guides.fdcg.agents", table, "mentor.guide.agents")


def wait_for(call: Callable[..., Awaitable[R]], *arguments: object) -> R:
    return anyio.run(call, *arguments, backend="trio")


def failed_at(*steps: Sequence[int], question: task.Question = QUESTION, **case: Sequence[str]) -> Case:
    return a_case(question, [forgetful_at(question, s) for s in steps], earlier=case.get("earlier", ()))


@given(attempts)
def test_attribution_counts_each_attempt_at_the_steps_where_it_erred(steps: list[set[int]]) -> None:
    found = error_counts(failed_at(*map(sorted, steps)))
    assert found == [sum(step in wrong for wrong in steps) for step in range(1, task.STEPS + 1)]


def test_attribution_names_the_worst_step_and_the_habit(agents: Agents) -> None:
    question = task.parse_question("Ops: +91 -86 -29 -39 -78 -19 -69 -37 -38 -16 Start: 52")
    found = wait_for(agents.attribute, failed_at([2, 3], [3], [3, 8], question=question))
    assert found.root_cause == "a forgotten carry or borrow, most often at step 3"
    assert found.errors == ("step 2: 1 of 3", "step 3: 3 of 3", "step 8: 1 of 3")


@given(counts, st.floats(0.05, 0.95))
def test_the_revealed_step_is_the_earliest_that_leaves_enough_success(
    errors: list[int], enough: float
) -> None:
    def success_after(step: int) -> float:
        return prod(1 - (count + 0.25) / 8.5 for count in errors[step:])

    step = step_to_reveal(errors, 8, min_success=enough)
    assert 1 <= step <= LAST_HINT
    assert step == LAST_HINT or success_after(step) >= enough - 1e-9
    assert all(success_after(earlier) < enough + 1e-9 for earlier in range(1, step))


def test_generation_tells_the_value_that_leaves_a_fifth_of_success(agents: Agents) -> None:
    case = failed_at(*[[2, 5, 8]] * 8)
    attribution = wait_for(agents.attribute, case)
    draft = wait_for(agents.generate, case, attribution, ())
    assert draft.text == str(task.Hint(8, RIGHT[7]))


def test_generation_takes_another_step_than_what_was_rejected_or_did_not_help(agents: Agents) -> None:
    case = failed_at(*[[2, 5, 6]] * 8, earlier=[str(task.Hint(6, RIGHT[5]))])
    attribution = wait_for(agents.attribute, case)
    draft = wait_for(agents.generate, case, attribution, (str(task.Hint(7, RIGHT[6])),))
    assert draft.text == str(task.Hint(8, RIGHT[7]))


def test_generation_without_a_diagnosis_takes_the_middle(agents: Agents) -> None:
    assert wait_for(agents.generate, failed_at([1]), None, ()).text == str(task.Hint(5, RIGHT[4]))


def test_generation_gives_up_when_every_step_was_tried(agents: Agents) -> None:
    tried = tuple(str(task.Hint(step, RIGHT[step - 1])) for step in range(1, task.STEPS))
    with pytest.raises(AgentError, match="every step"):
        wait_for(agents.generate, failed_at([1]), Attribution("", ("step 1: 1 of 1",)), tried)


@pytest.mark.parametrize(
    ("draft", "flaw"),
    [
        (str(task.Hint(4, RIGHT[3])), None),
        (str(task.Hint(4, (RIGHT[3] + 10) % 100)), Flaw.WRONG),
        (str(task.Hint(10, RIGHT[9])), Flaw.LEAK),
        (str(task.Hint(3, RIGHT[9])), Flaw.LEAK),
        (str(task.Hint(11, RIGHT[3])), Flaw.IRRELEVANT),
        (str(task.Hint(0, RIGHT[3])), Flaw.IRRELEVANT),
        ("Mind the carries.", Flaw.VAGUE),
    ],
)
def test_judgment_passes_only_a_right_value_that_is_not_the_answer(
    agents: Agents, draft: str, flaw: Flaw | None
) -> None:
    assert wait_for(agents.judge, failed_at([1]), draft).flaw is flaw


@pytest.mark.parametrize(("step", "then"), [(1, 2), (8, 9), (9, 1), (10, 2)])
def test_repair_tells_the_next_value(agents: Agents, step: int, then: int) -> None:
    draft = str(task.Hint(step, RIGHT[step - 1]))
    repaired = wait_for(agents.repair, failed_at([1]), draft, "leak")
    assert repaired.text == str(task.Hint(then, RIGHT[then - 1]))


def test_what_went_wrong_is_told_once_each() -> None:
    question = task.parse_question("Ops: +91 -86 -29 -39 -78 -19 -69 -37 -38 -16 Start: 52")
    case = failed_at([2, 3], [3], [3, 8], question=question)
    lesson = wait_for(plugins.build("consumers.guides", GUIDE, "mentor.guide").teach, case)
    told = next(call.result for call in lesson.calls if call.agent == "attribution")
    worst, *steps = told.splitlines()
    assert worst == "a forgotten carry or borrow, most often at step 3"
    assert steps == ["step 2: 1 of 3", "step 3: 3 of 3", "step 8: 1 of 3"]


@given(st.integers(0, 10_000), attempts)
def test_a_lesson_tells_a_right_value_and_never_the_answer(seed: int, steps: list[set[int]]) -> None:
    question = a_question(seed)
    values = question.values()
    guide = plugins.build("consumers.guides", GUIDE, "mentor.guide")
    lesson = wait_for(guide.teach, failed_at(*map(sorted, steps), question=question))
    assert lesson.outcome is Outcome.HINT
    hint = task.parse_hint(lesson.hint or "")
    assert hint is not None
    assert hint.step <= LAST_HINT
    assert hint.value == values[hint.step - 1] != values[-1]


def test_a_question_of_another_task_ends_in_silence_not_in_a_crash() -> None:
    other = Case(group=a_group("WW"), round=1, earlier=(), fits=lambda _: True)
    guide = plugins.build("consumers.guides", GUIDE, "mentor.guide")
    assert wait_for(guide.teach, other).outcome is Outcome.SILENT

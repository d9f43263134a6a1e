"""The chain task: its texts, its questions and who made which error."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.chain import task
from tests.examples.chain import a_question, forgetful_at

seeds = st.integers(0, 10_000)


def test_the_worked_example_of_the_module_is_right() -> None:
    question = task.parse_question("Ops: +91 -86 -29 -39 -78 -19 -69 -37 -38 -16 Start: 52")
    assert task.completion(question.values()) == " 43 57 28 89 11 92 23 86 48 32"
    assert str(task.Hint(4, 89)) == "after step 4 the value is 89."


@given(seeds)
def test_a_question_reads_back_from_its_text(seed: int) -> None:
    question = a_question(seed)
    assert task.parse_question(str(question)) == question


@given(st.integers(1, 9), st.integers(0, 99))
def test_a_hint_reads_back_from_its_text(step: int, value: int) -> None:
    assert task.parse_hint(str(task.Hint(step, value))) == (step, value)


@pytest.mark.parametrize(
    "text", ["", "What is 2 + 3?", "Ops: +91 -86 Start: 52", f"Ops:{' +1' * 10} Start: 52"]
)
def test_text_of_another_kind_is_no_question_and_no_hint(text: str) -> None:
    assert task.parse_hint(text) is None
    with pytest.raises(ValueError, match="not a chain of 10 steps"):
        task.parse_question(text)


def test_a_forgotten_carry_or_borrow_leaves_the_units_right() -> None:
    assert task.Operand(1, 7).apply_forgetfully(5) == 2
    assert task.Operand(-1, 28).apply_forgetfully(46) == 28
    assert task.Operand(1, 12).apply_forgetfully(95) == 7
    assert not task.Operand(1, 12).is_hard(95)


@given(seeds)
def test_hard_steps_stand_in_one_block_of_one_sign(seed: int) -> None:
    question = a_question(seed)
    before = [question.start, *question.values()]
    hard = [step for step, operand in enumerate(question.operands) if operand.is_hard(before[step])]
    assert len(hard) >= task.HARD_BLOCK // 2
    assert hard[-1] - hard[0] < task.HARD_BLOCK
    assert len({question.operands[step].sign for step in hard}) == 1


@given(seeds)
def test_a_question_without_a_hard_block_needs_no_carry(seed: int) -> None:
    question = task.random_question(Random(seed), hard_block=0)
    before = [question.start, *question.values()]
    assert not any(operand.is_hard(value) for operand, value in zip(question.operands, before, strict=False))


@given(seeds, st.sets(st.integers(1, task.STEPS)))
def test_an_error_is_charged_to_the_step_that_made_it(seed: int, steps: set[int]) -> None:
    question = a_question(seed)
    assert task.own_errors(question, forgetful_at(question, sorted(steps))) == sorted(steps)


def test_steps_up_to_a_given_one_are_not_charged() -> None:
    question = a_question()
    assert task.own_errors(question, forgetful_at(question, [2, 7]), given=2) == [7]


def test_a_step_without_a_value_and_the_step_after_it_are_errors() -> None:
    question = a_question()
    values: list[int | None] = [*question.values()]
    assert task.own_errors(question, [*values[:3], None, *values[4:]]) == [4, 5]
    assert task.own_errors(question, values[:8]) == [9, 10]


def test_words_that_are_no_values_keep_their_place() -> None:
    assert task.parse_completion(" 43 Ops: 57 5 +12") == [43, None, 57, None, None]

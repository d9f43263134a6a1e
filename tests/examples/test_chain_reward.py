"""The chain task's reward, as the rollout worker would load it."""

import pytest

from examples.chain import task
from mentor_stream import plugins
from producers.rewards.base import Reward, Unscorable
from tests.builders import a_guided_query, a_query
from tests.examples.chain import a_question, asked, forgetful_at

QUESTION = a_question(3)
RIGHT = [*QUESTION.values()]


@pytest.fixture
def reward() -> Reward:
    return plugins.build("producers.rewards", {"kind": "examples.chain.reward"}, "reward.verifier")


def shifted(values: list[int]) -> list[int]:
    return [(value + 10) % 100 for value in values]


@pytest.mark.parametrize(
    ("values", "right", "remark"),
    [
        (RIGHT, True, ""),
        (forgetful_at(QUESTION, [3]), False, "first own error at step 3: "),
        (forgetful_at(QUESTION, [5, 9]), False, "first own error at step 5: "),
        (forgetful_at(QUESTION, [10]), False, "first own error at step 10: "),
        ([*shifted(RIGHT[:9]), RIGHT[9]], False, "first own error at step 1: "),
        (RIGHT[:9], False, "9 values where 10 are asked for"),
        ([*RIGHT, RIGHT[9]], False, "11 values where 10 are asked for"),
        ([], False, "0 values where 10 are asked for"),
    ],
)
def test_a_chain_pays_when_every_step_follows(
    reward: Reward, values: list[int], right: bool, remark: str
) -> None:
    judgement = reward.score(asked(QUESTION), task.completion(values))
    assert (judgement.right, judgement.reward) == (right, float(right))
    assert judgement.remark.startswith(remark)


def test_the_remark_tells_the_sum_that_went_wrong(reward: Reward) -> None:
    question = task.parse_question("Ops: +91 -86 -29 -39 -78 -19 -69 -37 -38 -16 Start: 52")
    values = [43, 67, 38, 99, 21, 2, 33, 96, 58, 42]
    judgement = reward.score(asked(question), task.completion(values))
    assert judgement.remark == "first own error at step 2: 43 -86 is 57, not 67"


def test_words_in_place_of_a_value_are_wrong(reward: Reward) -> None:
    judgement = reward.score(asked(QUESTION), task.completion(RIGHT[:9]) + " Start:")
    assert judgement.remark == "first own error at step 10: no value"


@pytest.mark.parametrize(
    ("values", "right"),
    [
        (RIGHT, True),
        ([*shifted(RIGHT[:3]), *RIGHT[3:]], True),
        ([*RIGHT[:3], *shifted(RIGHT[3:])], False),
        (forgetful_at(QUESTION, [7]), False),
    ],
)
def test_steps_before_a_hinted_value_are_not_held_against_an_attempt(
    reward: Reward, values: list[int], right: bool
) -> None:
    hinted = a_guided_query(asked(QUESTION), str(task.Hint(4, RIGHT[3])))
    assert reward.score(hinted, task.completion(values)).right is right


def test_a_hint_that_gives_no_value_excuses_nothing(reward: Reward) -> None:
    hinted = a_guided_query(asked(QUESTION), "Mind the carries.")
    assert not reward.score(hinted, task.completion(forgetful_at(QUESTION, [1]))).right


@pytest.mark.parametrize(
    "query",
    [
        a_query("What is 2 + 3?", "5"),
        a_query(str(QUESTION), "many"),
        a_query(str(QUESTION), f"{(RIGHT[-1] + 1) % 100:02d}"),
    ],
)
def test_a_question_it_cannot_judge_is_unscorable(reward: Reward, query) -> None:
    with pytest.raises(Unscorable):
        reward.score(query, task.completion(RIGHT))

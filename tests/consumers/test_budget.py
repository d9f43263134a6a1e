"""Whether a hint leaves the prompt within its length."""

from pathlib import Path

from msgspec.structs import replace

import schemas
from consumers.budget import SLACK, Budget, counter
from mentor_stream.prompts import PromptConfig
from schemas import Group, Query
from tests.builders import a_group, a_guided_query, a_query, a_trajectory

CHAIN_POLICY = Path(__file__).parents[2] / "examples" / "chain" / "policy"


def a_group_prompted_with(tokens: int, query: Query | None = None) -> Group:
    group = a_group("W", query=query)
    prompt = replace(a_trajectory("W"), prompt_ids=schemas.ids(range(tokens)))
    return replace(group, trajectories=(prompt,))


def words(text: str) -> int:
    return len(text.split())


def test_the_prompt_that_was_sampled_plus_what_the_hint_adds_must_fit() -> None:
    budget = Budget(PromptConfig(max_prompt_tokens=30), words)
    group = a_group_prompted_with(20)  # 6 words of question, the rest is the chat template's
    assert budget.fits(group, "one two three four five six seven")  # 20 + "Hint:" + 7 + slack = 30
    assert SLACK == 2
    assert not budget.fits(group, "one two three four five six seven eight")


def test_a_new_hint_takes_the_place_of_the_one_before() -> None:
    budget = Budget(PromptConfig(max_prompt_tokens=30), words)
    group = a_group_prompted_with(28, a_guided_query(a_query(), "one two three four five six"))
    assert budget.fits(group, "a b c d e f")
    assert not budget.fits(group, "a b c d e f g")


def test_tokens_are_counted_by_the_policys_own_tokenizer() -> None:
    count = counter(CHAIN_POLICY)
    assert count("Hint: after step 4 the value is 66.\nOps: +91") == 12


def test_without_a_tokenizer_the_estimate_is_on_the_safe_side(tmp_path: Path) -> None:
    count = counter(tmp_path)
    assert count("four words of English") == 7
    assert count("") == 0

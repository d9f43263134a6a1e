"""Whether a hint leaves the prompt within its length."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import schemas
from consumers.budget import SLACK, Budget, budget, counter
from mentor_stream.config import Config, RunConfig
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import LengthLimits, RolloutConfig, length_limits
from producers.tokenizer import PolicyTokenizer
from schemas import Group, Query
from tests.builders import a_group, a_guided_query, a_query, a_trajectory

CHAIN_POLICY = Path(__file__).parents[2] / "examples" / "chain" / "policy"


def a_group_prompted_with(tokens: int, query: Query | None = None) -> Group:
    group = a_group("W", query=query)
    prompt = replace(a_trajectory("W"), prompt_ids=schemas.ids(range(tokens)))
    return replace(group, trajectories=(prompt,))


def words(text: str) -> int:
    return len(text.split())


def a_budget(*, context: int | None = None, completion: int = 8) -> Budget:
    return Budget(PromptConfig(), LengthLimits(prompt=30, completion=completion, context=context), words)


def a_config(policy: Path, *, prompt: int = 1024, completion: int = 8) -> Config:
    run = RunConfig(name="test", directory=policy, broker="sqlite:///stream.db", policy=policy)
    sections = (run, PromptConfig(max_prompt_tokens=prompt), RolloutConfig(max_new_tokens=completion))
    return Config(policy / "run.toml", {section.table: section for section in sections})


def test_the_prompt_that_was_sampled_plus_what_the_hint_adds_must_fit() -> None:
    budget = a_budget()
    group = a_group_prompted_with(20)  # 6 words of question, the rest is the chat template's
    assert budget.fits(group, "one two three four five six seven")  # 20 + "Hint:" + 7 + slack = 30
    assert SLACK == 2
    assert not budget.fits(group, "one two three four five six seven eight")


def test_a_new_hint_takes_the_place_of_the_one_before() -> None:
    budget = a_budget()
    group = a_group_prompted_with(28, a_guided_query(a_query(), "one two three four five six"))
    assert budget.fits(group, "a b c d e f")
    assert not budget.fits(group, "a b c d e f g")


def test_the_longest_completion_must_fit_behind_it_into_the_models_context() -> None:
    group = a_group_prompted_with(20)
    assert a_budget(context=36).fits(group, "one two three four five")  # 20 + "Hint:" + 5 + slack + 8 = 36
    assert not a_budget(context=36).fits(group, "one two three four five six")
    assert not a_budget(context=36, completion=9).fits(group, "one two three four five")


@pytest.mark.parametrize(("prompt", "completion"), [(40, 8), (1024, 24)])  # of 64 positions
def test_a_hint_that_fits_is_one_that_a_rollout_worker_samples(prompt: int, completion: int) -> None:
    config, question = a_config(CHAIN_POLICY, prompt=prompt, completion=completion), a_query().question
    tokenizer, limits = PolicyTokenizer(CHAIN_POLICY, config.of(PromptConfig)), length_limits(config)
    group, room = a_group_prompted_with(len(tokenizer.prompt(question))), budget(config)

    def sampled(hint: str) -> bool:
        return limits.refusal(len(tokenizer.prompt(question, hint))) is None

    hints = ["after step 4 " * count for count in range(1, 40)]
    fitting = [hint for hint in hints if room.fits(group, hint)]
    assert fitting
    assert all(sampled(hint) for hint in fitting)
    assert sum(map(sampled, hints)) - 1 <= len(fitting) < len(hints)


def test_a_mentor_without_the_policys_files_knows_no_context(tmp_path: Path) -> None:
    assert budget(a_config(tmp_path)).limits == LengthLimits(prompt=1024, completion=8, context=None)


def test_tokens_are_counted_by_the_policys_own_tokenizer() -> None:
    count = counter(CHAIN_POLICY)
    assert count("Hint: after step 4 the value is 66.\nOps: +91") == 12


def test_without_a_tokenizer_the_estimate_is_on_the_safe_side(tmp_path: Path) -> None:
    count = counter(tmp_path)
    assert count("four words of English") == 7
    assert count("") == 0

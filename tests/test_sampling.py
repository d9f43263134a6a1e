"""What [rollout] allows, and which prompts are sampled."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from mentor_stream.sampling import LengthLimits, RolloutConfig, context_length
from tests.producers.conftest import write_policy


def test_a_group_of_one_is_refused_with_the_way_out() -> None:
    with pytest.raises(ValidationError, match=r"at least 2 .* Set rollout\.group_size to 2"):
        RolloutConfig(group_size=1)


@pytest.mark.parametrize(
    ("tokens", "context", "says"),
    [
        (0, None, "empty"),
        (11, None, "prompt.max_prompt_tokens is 10"),
        (9, 12, "12 positions"),
        (10, None, None),
        (8, 12, None),
    ],
)
def test_a_prompt_that_cannot_be_sampled_whole_is_refused(
    tokens: int, context: int | None, says: str | None
) -> None:
    refusal = LengthLimits(prompt=10, completion=4, context=context).refusal(tokens)
    assert refusal is None if says is None else says in str(refusal)


def test_the_context_length_is_the_models_positions(tmp_path: Path) -> None:
    write_policy(tmp_path)
    assert context_length(tmp_path) == 64
    (tmp_path / "config.json").write_text('{"text_config": {"max_position_embeddings": 7}}')
    assert context_length(tmp_path) == 7
    (tmp_path / "config.json").write_text("{}")
    assert context_length(tmp_path) is None

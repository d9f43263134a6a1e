"""Ranks among which a model does not divide evenly learn what one rank learns."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.trainer.parallel import OF_ONE, goes_on, learned
from tests.trainer.test_parallel import together

pytestmark = pytest.mark.usefixtures("rank")

FOUR = {"tensor_parallel": 4}
"""More than there are key-value heads (2), and no divisor of the vocabulary (65)."""


SMOOTH = {"adam_eps": 1e-3}
"""By default Adam moves a weight whose gradient is nothing but rounding as far as any other: the second loss
of this model is then 1e-6 from that in float64 on one rank, and 4e-6 on four. With steps that follow the
gradient one and four are within 1e-7 of each other."""


@pytest.mark.parametrize(
    ("family", "options", "ways"),
    [("odd", {}, [FOUR, FOUR | {"sequence_parallel": True}]), ("odd qwen3", SMOOTH, [FOUR])],
    ids=["llama", "qwen3"],
)
def test_ranks_that_share_words_and_key_value_heads_unevenly_learn_what_one_learns(
    policy_of: Callable[..., Path],
    tmp_path: Path,
    family: str,
    options: dict[str, Any],
    ways: list[dict[str, Any]],
) -> None:
    policy = policy_of(family, tied=True)
    alone = learned(policy, options, tmp_path / OF_ONE)
    after = goes_on(policy, options, tmp_path / OF_ONE)
    for number, steps in enumerate(together(policy, tmp_path, 4, [options | way for way in ways])):
        assert steps["losses"] == pytest.approx(alone.losses, abs=1e-6)
        assert steps["norms"] == pytest.approx(alone.norms, rel=1e-4)
        assert steps["after"] == pytest.approx(after, abs=2e-6)
        assert goes_on(policy, options, tmp_path / str(number)) == pytest.approx(after, abs=2e-6)
        theirs = load_file(tmp_path / f"{number}.safetensors")
        assert theirs.keys() == alone.weights.keys()
        for name, ours in alone.weights.items():
            torch.testing.assert_close(theirs[name], ours, rtol=0, atol=2e-4, msg=name)

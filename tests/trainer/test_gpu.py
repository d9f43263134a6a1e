"""What only GPUs can show. Without them, or without Transformer Engine, these tests say what they miss."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.models import a_model
from tests.trainer.parallel import OF_ONE, learned, step
from tests.trainer.policies import write_policy
from tests.trainer.test_parallel import together
from trainer.model import fp8, hardware, precision

pytestmark = pytest.mark.gpu

TWO_GPUS = pytest.mark.skipif(
    torch.cuda.device_count() < 2, reason=f"two GPUs for NCCL, and torch sees {torch.cuda.device_count()}"
)
RECIPES: list[precision.Recipe] = ["tensorwise", "delayed", "blockwise", "mxfp8"]


def fp8_or_skip(recipe: precision.Recipe) -> None:
    if problem := fp8.problem(hardware.found(), recipe):
        pytest.skip(problem)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy whose sides FP8 takes, by blocks of 128, too."""
    shape = {"hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2}
    model = a_model("Qwen3", seed=3, **shape, head_dim=64, num_hidden_layers=4, vocab_size=64)
    directory = write_policy(tmp_path_factory.mktemp("large"), "qwen3")
    model.save_pretrained(directory)
    return directory


def losses(policy: Path, steps: int, **options: Any) -> list[float]:
    """Of so many steps on the same few batches."""
    from tests.trainer.parallel import a_learner

    learner = a_learner(policy, {"lr": 1e-3, "weight_decay": 0.0, "kl_coef": 0.1, **options})
    return [step(learner, policy, number % 4).loss for number in range(steps)]


@pytest.mark.usefixtures("rank")
@pytest.mark.parametrize("recipe", RECIPES)
def test_what_is_learned_in_fp8_goes_as_in_bf16(large: Path, recipe: precision.Recipe) -> None:
    fp8_or_skip(recipe)
    reference = torch.tensor(losses(large, 40, precision="bf16"))
    found = torch.tensor(losses(large, 40, precision="fp8", fp8_recipe=recipe))
    assert (found - reference).abs().mean() < 0.02, (found, reference)


@pytest.mark.usefixtures("rank")
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_layers_of_the_engine_that_are_left_in_bf16_are_those_of_plain_torch(
    policy_of: Callable[..., Path], family: str
) -> None:
    fp8_or_skip("tensorwise")
    whole = {"precision": "fp8", "first_last_layers_bf16": 1}  # of two layers
    plain, ours = (losses(policy_of(family), 3, **way) for way in ({"precision": "bf16"}, whole))
    assert ours == pytest.approx(plain, abs=5e-3)


@TWO_GPUS
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_two_ranks_over_nccl_learn_what_one_learns(
    policy_of: Callable[..., Path], tmp_path: Path, rank: None, precision: str
) -> None:
    policy, options = policy_of("qwen3"), {"precision": precision, "lr": 1e-3}
    alone = learned(policy, options, tmp_path / OF_ONE)
    ways = [options | {f"{kind}_parallel": 2} for kind in ("tensor", "pipeline", "context", "data")]
    for way, found in zip(ways, together(policy, tmp_path, 2, ways), strict=True):
        assert found["losses"] == pytest.approx(alone.losses, abs=1e-5 if precision == "fp32" else 5e-3), way


@TWO_GPUS
@pytest.mark.parametrize("way", [{"tensor_parallel": 2, "sequence_parallel": True}, {"context_parallel": 2}])
def test_two_ranks_learn_in_fp8_what_one_learns(
    large: Path, tmp_path: Path, rank: None, way: dict[str, Any]
) -> None:
    fp8_or_skip("tensorwise")
    options = {"precision": "fp8", "lr": 1e-3}
    alone = learned(large, options, tmp_path / OF_ONE)
    [found] = together(large, tmp_path, 2, [options | way])
    assert found["losses"] == pytest.approx(alone.losses, abs=2e-2)

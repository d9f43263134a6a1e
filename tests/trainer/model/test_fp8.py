"""FP8 as it is decided upon; that it trains is in tests/trainer/test_gpu.py."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.config import ConfigError, parse_section
from tests.trainer.packing.test_microbatch import ROWS, a_row
from trainer.config import TrainerConfig
from trainer.model import architecture, fp8, hardware, precision
from trainer.model.fp8 import CAPABILITIES, Found
from trainer.packing.microbatch import collate, multiples

HOPPER = Found(megatron="0.16.1", engine="2.11.0+cu129", cuda="12.9", capability=(9, 0))


def settings(**given: Any) -> TrainerConfig:
    return parse_section(TrainerConfig, {"precision": "fp8"} | given, "trainer")


@pytest.mark.parametrize("recipe", ["tensorwise", "delayed", "blockwise"])
def test_where_all_is_there_fp8_can_be_had(recipe: precision.Recipe) -> None:
    assert fp8.problem(HOPPER, recipe) is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"engine": None}, "Transformer Engine is not installed (pip install 'mentor-stream[gpu]'"),
        (
            {"engine": "2.8.0"},
            "Transformer Engine is 2.8.0, and megatron-core 0.16.1 needs 2.9 or newer, older",
        ),
        ({"engine": "2.12.0"}, "is 2.12.0, and megatron-core 0.16.1 needs 2.9 or newer, older than 2.12"),
        ({"engine": "unknown"}, "Transformer Engine is unknown"),
        ({"cuda": None, "capability": None}, "torch sees no CUDA device (it was built without CUDA)"),
        ({"capability": None}, "torch sees no CUDA device. Set trainer.precision to 'bf16'"),
        ({"capability": (8, 0)}, "the GPU has compute capability 8.0, and FP8 needs 8.9 or newer"),
    ],
)
def test_what_is_missing_is_named_with_the_way_out(change: dict[str, Any], named: str) -> None:
    problem = fp8.problem(replace(HOPPER, **change), "tensorwise")
    assert problem
    assert problem.startswith("trainer.precision is 'fp8': ")
    assert named in problem
    assert problem.endswith("Set trainer.precision to 'bf16' or 'fp32'.")


def test_a_newer_megatron_takes_a_newer_engine() -> None:
    assert fp8.problem(replace(HOPPER, megatron="0.17.0", engine="2.13.0"), "tensorwise") is None


@pytest.mark.parametrize(
    ("recipe", "change", "named"),
    [
        (
            "blockwise",
            {"capability": (8, 9)},
            "it needs compute capability 9.0 or newer, and the GPU has 8.9",
        ),
        ("blockwise", {"cuda": "12.8"}, "it needs CUDA 12.9 or newer, and torch was built for 12.8"),
        ("mxfp8", {}, "it needs compute capability 10.0 or newer, and the GPU has 9.0"),
        ("mxfp8", {"capability": (12, 0)}, "has not all of it for compute capability 12.0"),
    ],
)
def test_a_recipe_that_the_gpu_does_not_know_is_named(
    recipe: precision.Recipe, change: dict[str, Any], named: str
) -> None:
    problem = fp8.problem(replace(HOPPER, **change), recipe)
    assert problem
    assert problem.startswith(f"trainer.fp8_recipe is {recipe!r}: ")
    assert named in problem


@given(
    st.sampled_from(list(CAPABILITIES)),
    st.tuples(st.integers(7, 13), st.integers(0, 9)),
    st.tuples(st.integers(7, 13), st.integers(0, 9)),
)
def test_up_to_the_newest_kind_a_newer_gpu_can_all_that_an_older_one_can(
    recipe: precision.Recipe, one: tuple[int, int], other: tuple[int, int]
) -> None:
    older, newer = (replace(HOPPER, capability=capability) for capability in sorted([one, other]))
    if fp8.problem(older, recipe) is None and max(one, other) < fp8.NO_MXFP8_FROM:
        assert fp8.problem(newer, recipe) is None


def test_this_machine_is_asked_for_gpus_by_another_process_and_says_what_it_has() -> None:
    program = [sys.executable, "-m", "trainer.model.hardware"]
    asked = subprocess.run(program, check=True, stdout=subprocess.PIPE).stdout
    cuda, gpus = hardware.gpus()
    assert json.loads(asked) == [cuda, [list(gpu) for gpu in gpus]]
    assert hardware.found().megatron == version("megatron-core")


@given(
    lengths=ROWS,
    context=st.sampled_from([1, 2, 4]),
    shared=st.sampled_from([1, 2, 3, 4, 8]),
    recipe=st.sampled_from(list(CAPABILITIES)),
)
def test_every_rank_multiplies_with_as_many_positions_as_fp8_takes(
    lengths: list[tuple[int, int]], context: int, shared: int, recipe: precision.Recipe
) -> None:
    wanted = multiples(context, shared, fp8.positions(settings(fp8_recipe=recipe)))
    rows = [a_row(number, *length) for number, length in enumerate(lengths)]
    batch = collate(rows, wanted)
    own = len(batch.part(0, context).tokens_T)
    assert own * context == len(batch.tokens_T)
    assert own % shared == 0
    assert own // shared % fp8.MULTIPLES[recipe] == 0
    assert all(context == 1 or length % (2 * context) == 0 for length in batch.lengths)
    filled = sum(-(-row.tokens // wanted.sequence) * wanted.sequence for row in rows)
    assert len(batch.tokens_T) < max(1, filled) + wanted.batch, "no more than is needed"


def test_other_precisions_are_padded_for_nothing() -> None:
    assert fp8.positions(settings(precision="bf16")) == 1
    assert fp8.flags(settings(precision="bf16")) == {}


def test_sides_that_fp8_does_not_take_are_named_as_a_rank_has_them(policy_of: Callable[..., Path]) -> None:
    shape = architecture.read(policy_of())  # hidden 32, 4 heads on 2 of 8, MLP width 48
    assert fp8.uneven(shape, 1, "tensorwise") == []
    assert fp8.uneven(shape, 2, "tensorwise") == ["MLP width (24)"]
    assert fp8.uneven(shape, 1, "mxfp8") == ["MLP width (48)"]
    [problem] = fp8.problems(settings(tensor_parallel=2), shape)
    assert "with trainer.tensor_parallel = 2 a rank's MLP width (24) is no multiple of 16" in problem


def test_more_layers_at_the_ends_than_a_stage_has_are_refused(policy_of: Callable[..., Path]) -> None:
    shape = architecture.read(policy_of())
    assert list(fp8.problems(settings(first_last_layers_bf16=2), shape)) == []
    [problem] = fp8.problems(settings(first_last_layers_bf16=2, pipeline_parallel=2), shape)
    assert "trainer.first_last_layers_bf16 is 2: a pipeline stage has 1 layers" in problem


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"precision": "bf16", "fp8_recipe": "delayed"}, "fp8_recipe without precision = fp8 has no effect"),
        ({"fp8_recipe": "delayed", "first_last_layers_bf16": 1}, "does not go with fp8_recipe = delayed"),
        ({"fp8_recipe": "custom"}, "trainer.fp8_recipe is 'custom'"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        settings(**given)


@pytest.mark.usefixtures("rank")
@pytest.mark.parametrize("recipe", list(CAPABILITIES))
def test_megatron_knows_the_words_that_it_is_told(recipe: precision.Recipe) -> None:
    from megatron.core.enums import Fp8Recipe
    from megatron.core.fp8_utils import get_fp8_align_size
    from megatron.core.transformer import TransformerConfig

    whole = {} if recipe == "delayed" else {"first_last_layers_bf16": 1}
    told = fp8.flags(settings(fp8_recipe=recipe, **whole))
    config = TransformerConfig(num_layers=4, hidden_size=32, num_attention_heads=2, bf16=True, **told)
    assert (config.fp8, config.fp8_recipe) == ("hybrid", recipe)
    assert config.first_last_layers_bf16 == bool(whole)
    assert fp8.MULTIPLES[recipe] % get_fp8_align_size(Fp8Recipe[recipe]) == 0

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from tests.trainer.policies import LLAMA3, ROPES
from trainer.model import rope

POSITIONS = 4096
FACTORS = st.floats(1, 64)


def theirs(settings: dict, head_dim: int) -> tuple[torch.Tensor, float]:
    config = transformers.LlamaConfig(
        head_dim=head_dim, max_position_embeddings=POSITIONS, rope_parameters=dict(settings)
    )
    return ROPE_INIT_FUNCTIONS[settings["rope_type"]](config, "cpu")


def same(settings: dict, head_dim: int) -> None:
    frequencies, attention = theirs(settings, head_dim)
    ours = rope.read({"rope_parameters": settings}, POSITIONS)
    assert torch.equal(ours.frequencies(head_dim), frequencies)
    assert ours.attention_factor == pytest.approx(attention, abs=1e-12)


@pytest.mark.parametrize("settings", [LLAMA3, *ROPES.values()], ids=["llama3", *ROPES])
@pytest.mark.parametrize("head_dim", [8, 64, 128])
def test_frequencies_are_those_of_transformers_bit_for_bit(settings: dict, head_dim: int) -> None:
    same(settings, head_dim)


@given(
    low=st.floats(0.5, 4), width=st.floats(0.5, 8), factor=FACTORS, theta=st.integers(100, 10**6),
    original=st.integers(16, 32768),
)  # fmt: skip
def test_any_llama3_scaling_is_that_of_transformers(
    low: float, width: float, factor: float, theta: int, original: int
) -> None:
    bounds = {"low_freq_factor": low, "high_freq_factor": low + width}
    scale = {"factor": factor, "rope_theta": theta, "original_max_position_embeddings": original}
    same({"rope_type": "llama3", **bounds, **scale}, 64)


@given(
    fast=st.floats(4, 64), slow=st.floats(0.5, 4), factor=FACTORS, truncate=st.booleans(),
    attention=st.none() | st.floats(0.1, 2), mscale=st.none() | st.floats(0.1, 2),
)  # fmt: skip
def test_any_yarn_scaling_is_that_of_transformers(
    fast: float, slow: float, factor: float, truncate: bool, attention: float | None, mscale: float | None
) -> None:
    settings = {"rope_type": "yarn", "factor": factor, "beta_fast": fast, "beta_slow": slow}
    settings |= {"attention_factor": attention, "mscale": mscale, "mscale_all_dim": 0.5, "truncate": truncate}
    same(settings | {"rope_theta": 10_000.0}, 64)


def test_positions_known_before_scaling_are_all_where_nothing_else_is_said() -> None:
    settings = {"rope_type": "yarn", "factor": 2.0}
    assert rope.read({"rope_scaling": settings}, POSITIONS).original_positions == POSITIONS
    assert rope.read({"rope_scaling": settings, "original_max_position_embeddings": 512}, POSITIONS) == (
        rope.read({"rope_scaling": settings | {"original_max_position_embeddings": 512}}, POSITIONS)
    )


@pytest.mark.parametrize(
    "config",
    [
        {"rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 2.0}},
        {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 500.0}},
    ],
    ids=["transformers 4", "transformers 5"],
)
def test_settings_are_read_in_both_spellings(config: dict) -> None:
    assert rope.read(config, POSITIONS) == rope.Rope(500.0, "linear", 2.0, POSITIONS)


YARN = {"rope_type": "yarn", "factor": 4.0}
SHARP = {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4}


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "rotary type dynamic is not supported"),
        ({"rope_scaling": {"rope_type": "longrope"}}, "longrope"),
        ({"rope_scaling": {"rope_type": ["yarn"]}}, "rotary type ['yarn'] is not supported"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "factor is missing in rotary type yarn"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "low_freq_factor is missing"),
        ({"rope_scaling": YARN | {"factor": "4"}}, "factor is '4', expected a number above 0"),
        ({"rope_scaling": YARN | {"factor": 0}}, "factor is 0"),
        ({"rope_scaling": YARN | {"factor": float("nan")}}, "factor is nan"),
        ({"rope_scaling": YARN | {"attn_factor": 0.9}}, "attn_factor is not supported in rotary type yarn"),
        ({"rope_scaling": {"rope_type": "default", "mrope_section": [16, 24, 24]}}, "mrope_section"),
        (
            {
                "rope_scaling": {
                    "rope_type": "llama3",
                    "factor": 8,
                    "low_freq_factor": 4,
                    "high_freq_factor": 4,
                }
            },
            "low_freq_factor is 4, expected less than high_freq_factor",
        ),
        ({"rope_theta": "large"}, "rope_theta is 'large'"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor 0.5 is not supported"),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor 0.5"),
    ],
)
def test_what_is_not_supported_is_named(config: dict, named: str) -> None:
    assert named in "; ".join(rope.problems(config))

"""Sampling in this process with Hugging Face transformers, on CPU or GPU: the embedded default.

engine.py is the way in; weights.py loads and swaps models, decoding.py samples, choice.py picks a token.
Any attention model that transformers knows, also hybrids with linear layers; no pure state-space models.
"""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from mentor_stream.config import Section

if TYPE_CHECKING:
    from producers.engines.transformers.engine import TransformersEngine


class Config(Section):
    """Options of the engine kind `transformers`."""

    device: str = "auto"
    """A torch device such as `cpu` or `cuda:1`; auto takes a GPU when there is one."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "float32"
    """Number format of weights and activations; auto takes the snapshot's. Log-probs are float32 always."""
    max_batch: int = Field(256, ge=1)
    """Completions sampled at once; more are sampled in turns. Bounds the memory of the key-value cache."""
    num_threads: int | None = Field(None, ge=1)
    """CPU threads for torch; None takes all cores."""


def build(config: Config) -> "TransformersEngine":
    """An engine without weights: load some before it can sample."""
    from producers.engines.transformers.engine import TransformersEngine

    return TransformersEngine(config)

"""What can be set of the engine. Imports no torch."""

from typing import Literal

from pydantic import Field

from mentor_stream.config import Section


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

"""Number formats of weights and activations, and why one of them cannot be had here."""

from importlib.util import find_spec
from typing import Any, Literal

Precision = Literal["fp32", "bf16", "fp8"]


def problem(precision: Precision) -> str | None:
    """Why this precision cannot be had, or None. Imports no torch.

    Without Transformer Engine megatron-core accepts fp8 and trains in something else, so it must be
    refused here.
    """
    if precision != "fp8":
        return None
    if find_spec("transformer_engine") is None:
        reason = "FP8 needs Transformer Engine and a GPU with FP8 units (sm_89 or newer); it is not installed"
    else:
        reason = "training in FP8 is not built yet"
    return f"trainer.precision is 'fp8': {reason}. Set trainer.precision to 'bf16' or 'fp32'."


def dtype(precision: Precision) -> Any:
    """The torch dtype of weights and activations."""
    import torch

    return {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]

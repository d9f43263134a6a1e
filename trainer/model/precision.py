"""Number formats of weights and activations, as settings name them. Imports no torch."""

from typing import Any, Literal

Precision = Literal["fp32", "bf16", "fp8"]
Recipe = Literal["tensorwise", "delayed", "blockwise", "mxfp8"]
Format = Literal["hybrid", "e4m3"]


def dtype(precision: Precision) -> Any:
    """The torch dtype of weights, and of activations outside of FP8 matrices."""
    import torch

    return torch.float32 if precision == "fp32" else torch.bfloat16

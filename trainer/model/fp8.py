"""FP8 through Transformer Engine: whether it can be had here, what shapes it takes, what megatron is told.

Decided from facts that hardware.py finds: imports no torch. Weights, their gradients and everything outside
of the layers' matrices stay as with bf16; the matrices are multiplied in FP8, quantised as they come.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainer.model.architecture import Architecture
from trainer.model.precision import Recipe

if TYPE_CHECKING:
    from trainer.config import TrainerConfig

Version = tuple[int, ...]

OLDEST_ENGINE = (2, 9)
ENGINE_BEFORE: dict[Version, Version] = {(0, 16): (2, 12)}
"""The first Transformer Engine that a megatron-core does not know, by its own requirements."""
CAPABILITIES: dict[Recipe, Version] = {
    "tensorwise": (8, 9),
    "delayed": (8, 9),
    "blockwise": (9, 0),
    "mxfp8": (10, 0),
}
"""The oldest GPUs with each recipe, by transformer_engine.pytorch.quantization."""
NO_MXFP8_FROM = (12, 0)
BLOCKWISE_CUDA = (12, 9)
MULTIPLES: dict[Recipe, int] = {"tensorwise": 16, "delayed": 16, "blockwise": 128, "mxfp8": 32}
"""What both sides of every matrix must be multiples of (megatron-core, get_fp8_align_size), in whole blocks:
ranks that share positions exchange them quantised (Transformer Engine, is_quantizable)."""


@dataclass(frozen=True)
class Found:
    """What there is on this machine."""

    megatron: str
    """Version of megatron-core."""
    engine: str | None = None
    """Version of Transformer Engine."""
    cuda: str | None = None
    """What torch was built for."""
    capability: Version | None = None
    """Of the oldest GPU that torch sees."""


def problem(found: Found, recipe: Recipe) -> str | None:
    """Why FP8 with this recipe cannot be had, or None.

    Without Transformer Engine megatron-core accepts the settings and trains in something else, so it must be
    refused here.
    """
    if reason := _missing(found):
        return f"trainer.precision is 'fp8': {reason}. Set trainer.precision to 'bf16' or 'fp32'."
    if reason := _unsupported(found, recipe):
        return (
            f"trainer.fp8_recipe is {recipe!r}: {reason}. Set another recipe, or trainer.precision to 'bf16'."
        )
    return None


def _missing(found: Found) -> str | None:
    if found.engine is None:
        return (
            "Transformer Engine is not installed (pip install 'mentor-stream[gpu]', on a machine with CUDA)"
        )
    before = ENGINE_BEFORE.get(_release(found.megatron))
    if not OLDEST_ENGINE <= _release(found.engine) < (before or (999,)):
        wanted = f"{_said(OLDEST_ENGINE)} or newer" + (f", older than {_said(before)}" if before else "")
        return f"Transformer Engine is {found.engine}, and megatron-core {found.megatron} needs {wanted}"
    if found.cuda is None or found.capability is None:
        return "torch sees no CUDA device" + ("" if found.cuda else " (it was built without CUDA)")
    if found.capability < min(CAPABILITIES.values()):
        return f"the GPU has compute capability {_said(found.capability)}, and FP8 needs 8.9 or newer"
    return None


def _unsupported(found: Found, recipe: Recipe) -> str | None:
    assert found.capability is not None
    assert found.cuda is not None
    wanted, has = CAPABILITIES[recipe], _said(found.capability)
    if found.capability < wanted:
        return f"it needs compute capability {_said(wanted)} or newer, and the GPU has {has}"
    if recipe == "mxfp8" and found.capability >= NO_MXFP8_FROM:
        return f"Transformer Engine has not all of it for compute capability {has}"
    if recipe == "blockwise" and _release(found.cuda) < BLOCKWISE_CUDA:
        return f"it needs CUDA {_said(BLOCKWISE_CUDA)} or newer, and torch was built for {found.cuda}"
    return None


def uneven(architecture: Architecture, tensor_parallel: int, recipe: Recipe) -> list[str]:
    """Sides of a rank's matrices that FP8 does not take, with their sizes."""
    a, wanted = architecture, MULTIPLES[recipe]
    shared = {
        "rows of queries, keys and values": (a.heads + 2 * a.kv_heads) * a.head_dim,
        "size of all heads": a.heads * a.head_dim,
        "MLP width": a.ffn,
    }
    sides = {"hidden size": a.hidden} | {name: size // tensor_parallel for name, size in shared.items()}
    return [f"{name} ({size})" for name, size in sides.items() if size % wanted]


def positions(settings: "TrainerConfig") -> int:
    """What the positions that a rank multiplies with must be a multiple of."""
    return MULTIPLES[settings.fp8_recipe] if settings.precision == "fp8" else 1


def flags(settings: "TrainerConfig") -> dict[str, Any]:
    """What megatron-core's TransformerConfig is told of it; nothing for other precisions."""
    if settings.precision != "fp8":
        return {}
    whole = settings.first_last_layers_bf16
    return {
        "fp8": settings.fp8_format,
        "fp8_recipe": settings.fp8_recipe,
        "first_last_layers_bf16": whole > 0,
        "num_layers_at_start_in_bf16": whole,
        "num_layers_at_end_in_bf16": whole,
    }


def problems(settings: "TrainerConfig", architecture: Architecture) -> Iterator[str]:
    """What of a model FP8 does not take, with these settings."""
    if settings.precision != "fp8":
        return
    for side in uneven(architecture, settings.tensor_parallel, settings.fp8_recipe):
        yield (
            f"trainer.fp8_recipe is {settings.fp8_recipe!r}: with trainer.tensor_parallel = "
            f"{settings.tensor_parallel} a rank's {side} is no multiple of {MULTIPLES[settings.fp8_recipe]}. "
            "Share the model among fewer ranks, or set trainer.precision to 'bf16'."
        )
    layers = architecture.layers // settings.pipeline_parallel
    if settings.first_last_layers_bf16 > layers:
        yield (
            f"trainer.first_last_layers_bf16 is {settings.first_last_layers_bf16}: a pipeline stage has "
            f"{layers} layers. Set it to that or less."
        )


def _release(version: str) -> Version:
    """Its first two numbers: of "2.11.0+cu129" 2 and 11."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return (int(numbers[1]), int(numbers[2])) if numbers else ()


def _said(version: Version) -> str:
    return ".".join(map(str, version))

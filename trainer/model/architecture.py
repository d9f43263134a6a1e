"""What the trainer must know of a Hugging Face model's config.json, and which models it can train.

Reads JSON only: imports no torch, so that a config can be checked anywhere.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.model import rope
from trainer.model.rope import Rope


@dataclass(frozen=True)
class Family:
    """What one family of models has, and the others have not."""

    qkv_bias: bool = False
    """Its attention always adds a bias to queries, keys and values, whatever config.json says."""
    qk_norm: bool = False
    """It normalises the queries and keys of each head."""
    head_dim: int | None = None
    """Size of a head where config.json says nothing; None where the heads share the hidden size."""


FAMILIES = {
    "LlamaForCausalLM": Family(),
    "Qwen2ForCausalLM": Family(qkv_bias=True),
    "Qwen3ForCausalLM": Family(qk_norm=True, head_dim=128),
}
"""By the class that config.json names. A family that differs by these flags only is one entry here."""

_NEEDED = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "vocab_size")
_POSITIONS = ("max_position_embeddings", "original_max_position_embeddings")
_SIZES = (*_NEEDED, *_POSITIONS, "num_key_value_heads", "head_dim")
_SHAPES = {
    "architectures": (list, "a list"),
    "rope_parameters": (dict, "an object"),
    "rope_scaling": (dict, "an object"),
    "layer_types": (list, "a list"),
    "rms_norm_eps": (int | float, "a number"),
}
_ABSENT = (
    "mlp_bias",
    "use_sliding_window",
    "use_mrope",
    "num_experts",
    "num_local_experts",
    "n_routed_experts",
)
"""What a model must not have."""
_SILU = ("silu", "swish")


@dataclass(frozen=True)
class Architecture:
    """A dense decoder with rotary positions, RMS norms and a gated SiLU MLP."""

    family: Family
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocabulary: int
    norm_eps: float
    rope: Rope
    max_positions: int
    tied: bool


class UnsupportedModel(ValueError):
    """A model that the trainer cannot train; the text says which part of it."""


def read(policy: Path) -> Architecture:
    """The architecture described by `policy/config.json`. Raises UnsupportedModel, OSError."""
    try:
        config = json.loads((policy / "config.json").read_text())
    except ValueError as error:
        raise UnsupportedModel(f"config.json is no JSON: {error}") from error
    if problems := list(_misshapen(config)) or list(_problems(config)):
        raise UnsupportedModel("; ".join(problems))
    heads, hidden, family = config["num_attention_heads"], config["hidden_size"], FAMILIES[_family(config)]
    positions = config.get("max_position_embeddings") or 2048
    return Architecture(
        family=family,
        layers=config["num_hidden_layers"],
        hidden=hidden,
        heads=heads,
        kv_heads=config.get("num_key_value_heads") or heads,
        head_dim=config.get("head_dim") or family.head_dim or hidden // heads,
        ffn=config["intermediate_size"],
        vocabulary=config["vocab_size"],
        norm_eps=config.get("rms_norm_eps", 1e-6),
        rope=rope.read(config, positions),
        max_positions=positions,
        tied=bool(config.get("tie_word_embeddings", False)),
    )


def indivisible(architecture: Architecture, tensor_parallel: int) -> list[str]:
    """Parts that `tensor_parallel` ranks cannot share evenly, with their sizes.

    A vocabulary is filled up to what they can share. Ranks may share a key-value head, each with some of its
    queries.
    """
    parts = {"attention heads": architecture.heads, "MLP width": architecture.ffn}
    found = [f"{name} ({size})" for name, size in parts.items() if size % tensor_parallel]
    groups = architecture.kv_heads
    if groups % tensor_parallel and tensor_parallel % groups:
        found.append(f"key-value heads ({groups})")
    words = architecture.vocabulary
    if share(words, tensor_parallel) * (tensor_parallel - 1) >= words:  # the last rank would have none
        found.append(f"vocabulary ({words})")
    return found


def share(size: int, ranks: int) -> int:
    """How many of so many words or rows a rank has; the last ones may have fewer."""
    return -(-size // ranks)


def _family(config: Mapping[str, Any]) -> str:
    return str((config.get("architectures") or ["none"])[0])


def _misshapen(config: Any) -> Iterator[str]:
    """Values of a kind that Hugging Face never writes."""
    if not isinstance(config, dict):
        yield f"config.json holds a {type(config).__name__}, expected an object with the model's settings"
        return
    for key, (kind, what) in _SHAPES.items():
        if config.get(key) is not None and not isinstance(config[key], kind):
            yield f"{key} is {config[key]!r}, expected {what}"
    for key in _SIZES:
        size = config.get(key)
        if size is not None and (not isinstance(size, int) or size < 1):
            yield f"{key} is {size!r}, expected a whole number above 0"


def _problems(config: Mapping[str, Any]) -> Iterator[str]:
    family = FAMILIES.get(_family(config))
    if family is None:
        yield f"architecture {_family(config)} is not supported, only {', '.join(FAMILIES)}"
        return
    for key in _NEEDED:
        if config.get(key) is None:
            yield f"{key} is missing"
    yield from _option_problems(config)
    if config.get("attention_bias") and not family.qkv_bias:
        yield "attention_bias is not supported"
    heads, groups = (config.get(key) or 1 for key in ("num_attention_heads", "num_key_value_heads"))
    if heads % groups:
        yield f"num_attention_heads is {heads}, which num_key_value_heads ({groups}) does not divide"
    yield from rope.problems(config)


def _option_problems(config: Mapping[str, Any]) -> Iterator[str]:
    if config.get("hidden_act", "silu") not in _SILU:
        yield f"hidden_act {config['hidden_act']} is not supported, only silu"
    for key in _ABSENT:
        if config.get(key):
            yield f"{key} is not supported"
    for kind in sorted({str(kind) for kind in config.get("layer_types") or ()} - {"full_attention"}):
        yield f"layer_types holds {kind}, which is not supported, only full_attention"
    if quantised := config.get("quantization_config"):
        method = quantised.get("quant_method", "unknown") if isinstance(quantised, dict) else quantised
        yield f"quantised weights (quantization_config: {method}) are not supported; use the original model"

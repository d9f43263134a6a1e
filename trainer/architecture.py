"""What the trainer must know of a Hugging Face model's config.json, and which models it can train.

Reads JSON only: imports no torch, so that a config can be checked anywhere.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Family:
    """What one family of models has, and the others have not."""

    qkv_bias: bool = False
    """Its attention always adds a bias to queries, keys and values, whatever config.json says."""
    qk_norm: bool = False
    """It normalises the queries and keys of each head."""


FAMILIES = {
    "LlamaForCausalLM": Family(),
    "Qwen2ForCausalLM": Family(qkv_bias=True),
    "Qwen3ForCausalLM": Family(qk_norm=True),
}
"""By the class that config.json names. A family that differs by these flags only is one entry here."""

_NEEDED = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "vocab_size")
_SIZES = (*_NEEDED, "num_key_value_heads", "head_dim", "max_position_embeddings")
_SHAPES = {
    "architectures": (list, "a list"),
    "rope_parameters": (dict, "an object"),
    "rope_scaling": (dict, "an object"),
    "rope_theta": (int | float, "a number"),
    "rms_norm_eps": (int | float, "a number"),
}

_LLAMA3_BOUNDS = {"low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 8192}


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
    rope_theta: float
    rope_factor: float | None
    """Factor of the Llama 3 frequency scaling, None without."""
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
    heads, hidden = config["num_attention_heads"], config["hidden_size"]
    rope = _rope(config)
    return Architecture(
        family=FAMILIES[_family(config)],
        layers=config["num_hidden_layers"],
        hidden=hidden,
        heads=heads,
        kv_heads=config.get("num_key_value_heads") or heads,
        head_dim=config.get("head_dim") or hidden // heads,
        ffn=config["intermediate_size"],
        vocabulary=config["vocab_size"],
        norm_eps=config.get("rms_norm_eps", 1e-6),
        rope_theta=float(rope.get("rope_theta", 10_000.0)),
        rope_factor=float(rope["factor"]) if rope["rope_type"] == "llama3" else None,
        max_positions=config.get("max_position_embeddings", 2048),
        tied=bool(config.get("tie_word_embeddings", False)),
    )


def indivisible(architecture: Architecture, tensor_parallel: int) -> list[str]:
    """Parts that `tensor_parallel` ranks cannot share evenly, with their sizes."""
    parts = {
        "attention heads": architecture.heads,
        "key-value heads": architecture.kv_heads,
        "MLP width": architecture.ffn,
        "vocabulary": architecture.vocabulary,
    }
    return [f"{name} ({size})" for name, size in parts.items() if size % tensor_parallel]


def _family(config: Mapping[str, Any]) -> str:
    return str((config.get("architectures") or ["none"])[0])


def _rope(config: Mapping[str, Any]) -> dict[str, Any]:
    """Rotary settings in one form: transformers 5 nests them, 4 spread them over the config."""
    nested = config.get("rope_parameters") or config.get("rope_scaling") or {}
    rope = {"rope_type": nested.get("type", "default"), **nested}
    if "rope_theta" in config:
        rope.setdefault("rope_theta", config["rope_theta"])
    return rope


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
    if config.get("hidden_act", "silu") != "silu":
        yield f"hidden_act {config['hidden_act']} is not supported, only silu"
    for key in ("mlp_bias", "use_sliding_window"):
        if config.get(key):
            yield f"{key} is not supported"
    if config.get("attention_bias") and not family.qkv_bias:
        yield "attention_bias is not supported"
    yield from _rope_problems(_rope(config))


def _rope_problems(rope: Mapping[str, Any]) -> Iterator[str]:
    kind = rope["rope_type"]
    if kind not in ("default", "llama3"):
        yield f"rotary type {kind} is not supported, only default and llama3"
    if kind == "llama3" and any(rope.get(key) != value for key, value in _LLAMA3_BOUNDS.items()):
        yield f"llama3 rotary scaling is supported with {_LLAMA3_BOUNDS} only"
    if rope.get("partial_rotary_factor", 1.0) != 1.0:
        yield "partial_rotary_factor is not supported"

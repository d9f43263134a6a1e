"""How megatron's parameters are made of Hugging Face's tensors, and how tensor-parallel ranks share them.

A Codec pairs one megatron parameter with the Hugging Face tensors it is made of: query, key and value
are stored interleaved per key-value group [q x g, k, v]; gate and up are one matrix, each half split over
the tensor-parallel ranks by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.architecture import Architecture


@dataclass(frozen=True)
class Codec:
    """How one parameter is stored: its tensors' names, and how they and its shards are joined and parted."""

    names: tuple[str, ...]
    join: Callable[[list[Tensor]], Tensor]
    part: Callable[[Tensor], list[Tensor]]
    dim: int | None
    """Dimension that tensor-parallel ranks split; None where every rank holds all of it."""
    halves: bool = False
    """Gate and up: each half is split over the ranks, not the whole."""

    def shard(self, full: Tensor, rank: int, ranks: int) -> Tensor:
        """This rank's part of the full parameter."""
        if self.dim is None:
            return full
        pieces = full.chunk(2, self.dim) if self.halves else (full,)
        return torch.cat([piece.chunk(ranks, self.dim)[rank] for piece in pieces], self.dim)

    def whole(self, shards: list[Tensor]) -> Tensor:
        """The full parameter from all ranks' parts."""
        if self.dim is None:
            return shards[0]
        dim = self.dim
        if not self.halves:
            return torch.cat(shards, dim)
        halves = [shard.chunk(2, dim) for shard in shards]
        return torch.cat([half[i] for i in (0, 1) for half in halves], dim)


def codec_of(name: str, architecture: Architecture) -> Codec:
    """The codec of a megatron parameter. Raises KeyError for one it does not know."""
    name = name.removeprefix("module.")
    if name.startswith("decoder.layers."):
        layer, _, inner = name.removeprefix("decoder.layers.").partition(".")
        return _layer_codec(f"model.layers.{layer}.", inner, architecture)
    return {
        "embedding.word_embeddings.weight": _plain("model.embed_tokens.weight", dim=0),
        "decoder.final_layernorm.weight": _plain("model.norm.weight"),
        "output_layer.weight": _plain("lm_head.weight", dim=0),
    }[name]


def _layer_codec(prefix: str, inner: str, architecture: Architecture) -> Codec:
    if inner.startswith("self_attention.linear_qkv."):
        return _qkv(prefix, inner.rpartition(".")[2], architecture)
    if inner == "mlp.linear_fc1.weight":
        names = (f"{prefix}mlp.gate_proj.weight", f"{prefix}mlp.up_proj.weight")
        return Codec(names, torch.cat, lambda full: list(full.chunk(2)), dim=0, halves=True)
    theirs, dim = {
        "self_attention.linear_proj.weight": ("self_attn.o_proj.weight", 1),
        "self_attention.q_layernorm.weight": ("self_attn.q_norm.weight", None),
        "self_attention.k_layernorm.weight": ("self_attn.k_norm.weight", None),
        "input_layernorm.weight": ("input_layernorm.weight", None),
        "pre_mlp_layernorm.weight": ("post_attention_layernorm.weight", None),
        "mlp.linear_fc2.weight": ("mlp.down_proj.weight", 1),
    }[inner]
    return _plain(prefix + theirs, dim)


def _plain(name: str, dim: int | None = None) -> Codec:
    return Codec((name,), lambda tensors: tensors[0], lambda full: [full], dim)


def _qkv(prefix: str, kind: str, architecture: Architecture) -> Codec:
    groups, dim = architecture.kv_heads, architecture.head_dim
    queries = architecture.heads // groups * dim
    names = tuple(f"{prefix}self_attn.{letter}_proj.{kind}" for letter in "qkv")

    def join(tensors: list[Tensor]) -> Tensor:
        per_group = [t.reshape(groups, -1, *t.shape[1:]) for t in tensors]
        return torch.cat(per_group, dim=1).flatten(0, 1)

    def part(full: Tensor) -> list[Tensor]:
        per_group = full.reshape(groups, queries + 2 * dim, *full.shape[1:])
        return [t.flatten(0, 1) for t in per_group.split([queries, dim, dim], dim=1)]

    return Codec(names, join, part, dim=0)

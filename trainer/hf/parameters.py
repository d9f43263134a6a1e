"""How megatron's parameters are made of Hugging Face's tensors, and how tensor-parallel ranks share them.

A Codec pairs one megatron parameter with the Hugging Face tensors it is made of: query, key and value
are stored interleaved per key-value group [q x g, k, v]; gate and up are one matrix, each split over the
tensor-parallel ranks by itself. Rows that fill the last rank's share of the vocabulary are zeros.

Knows shapes and calls methods of tensors: imports no torch, so that names and shapes can be checked anywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.model.architecture import Architecture, share

if TYPE_CHECKING:
    from torch import Tensor

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Codec:
    """How one parameter is stored: its Hugging Face tensors, and what of them each rank holds."""

    tensors: Mapping[str, Shape]
    """Their names and shapes."""
    dim: int | None = None
    """Dimension that tensor-parallel ranks split; None where every rank holds all of it."""
    groups: int | None = None
    """Key-value groups by which the tensors are interleaved; None where they are not, or by ranks."""

    def regions(self, rank: int, ranks: int) -> list[tuple[slice, ...]]:
        """The part of each tensor that this rank's shard is made of.

        Ranks that share one key-value group have the same.
        """
        if self.dim is None:
            return [tuple(slice(0, size) for size in shape) for shape in self.tensors.values()]
        pieces = self._pieces(ranks)
        return [_region(shape, self.dim, rank * pieces // ranks, pieces) for shape in self.tensors.values()]

    def shard(self, parts: Sequence["Tensor"], rank: int, ranks: int) -> "Tensor":
        """This rank's shard of the parameter from the parts that `regions` names, without its padding."""
        joined = _interleaved(parts, (self.groups or 0) // self._pieces(ranks) or 1)
        sharing = ranks // self._pieces(ranks)
        return joined if sharing == 1 else joined.chunk(sharing)[rank % sharing]

    def whole(self, shards: Sequence["Tensor"]) -> list["Tensor"]:
        """The tensors, from all ranks' shards."""
        import torch

        if self.dim is None:
            return [shards[0]]
        full = shards[0] if len(shards) == 1 else torch.cat(list(shards), self.dim)
        sizes = [shape[self.dim] for shape in self.tensors.values()]
        if len(sizes) == 1:
            return [full.narrow(self.dim, 0, sizes[0])]
        blocks = self.groups or len(shards)
        by_block = full.unflatten(0, (blocks, -1)).split([size // blocks for size in sizes], 1)
        return [tensor.flatten(0, 1) for tensor in by_block]

    def _pieces(self, ranks: int) -> int:
        return min(ranks, self.groups or ranks)


def codecs(architecture: Architecture) -> dict[str, Codec]:
    """The codecs of all parameters by their megatron names, in the order of the model."""
    words = (architecture.vocabulary, architecture.hidden)
    found = {"embedding.word_embeddings.weight": _plain("model.embed_tokens.weight", words, dim=0)}
    for layer in range(architecture.layers):
        of_layer = _layer_codecs(f"model.layers.{layer}.", architecture)
        found |= {f"decoder.layers.{layer}.{name}": codec for name, codec in of_layer.items()}
    found["decoder.final_layernorm.weight"] = _plain("model.norm.weight", (architecture.hidden,))
    if not architecture.tied:
        found["output_layer.weight"] = _plain("lm_head.weight", words, dim=0)
    return found


_FUSED = {
    "self_attention.linear_qkv.layer_norm_weight": "input_layernorm.weight",
    "mlp.linear_fc1.layer_norm_weight": "pre_mlp_layernorm.weight",
}
"""Norms that Transformer Engine has in the matrices behind them, in a layer."""


def unfused(name: str) -> str:
    """The name of a layer's parameter where the layer is of plain modules: under it `codecs` has it."""
    return _FUSED.get(name, name)


def shapes(architecture: Architecture) -> dict[str, Shape]:
    """All tensors of the model under their Hugging Face names, in the order of the model."""
    return {n: shape for codec in codecs(architecture).values() for n, shape in codec.tensors.items()}


def _layer_codecs(prefix: str, a: Architecture) -> dict[str, Codec]:
    queries, norm = a.heads * a.head_dim, (a.hidden,)
    gated = {f"{prefix}mlp.{name}_proj.weight": (a.ffn, a.hidden) for name in ("gate", "up")}
    found = {
        "input_layernorm.weight": _plain(f"{prefix}input_layernorm.weight", norm),
        "self_attention.linear_qkv.weight": _qkv(prefix, "weight", (a.hidden,), a),
        "self_attention.linear_proj.weight": _plain(
            f"{prefix}self_attn.o_proj.weight", (a.hidden, queries), dim=1
        ),
        "pre_mlp_layernorm.weight": _plain(f"{prefix}post_attention_layernorm.weight", norm),
        "mlp.linear_fc1.weight": Codec(gated, dim=0),
        "mlp.linear_fc2.weight": _plain(f"{prefix}mlp.down_proj.weight", (a.hidden, a.ffn), dim=1),
    }
    if a.family.qkv_bias:
        found["self_attention.linear_qkv.bias"] = _qkv(prefix, "bias", (), a)
    if a.family.qk_norm:
        for letter in "qk":
            theirs = f"{prefix}self_attn.{letter}_norm.weight"
            found[f"self_attention.{letter}_layernorm.weight"] = _plain(theirs, (a.head_dim,))
    return found


def _plain(name: str, shape: Shape, dim: int | None = None) -> Codec:
    return Codec({name: shape}, dim)


def _qkv(prefix: str, kind: str, rest: Shape, a: Architecture) -> Codec:
    rows = {"q": a.heads * a.head_dim, "k": a.kv_heads * a.head_dim, "v": a.kv_heads * a.head_dim}
    tensors = {f"{prefix}self_attn.{letter}_proj.{kind}": (size, *rest) for letter, size in rows.items()}
    return Codec(tensors, dim=0, groups=a.kv_heads)


def _region(shape: Shape, dim: int, piece: int, pieces: int) -> tuple[slice, ...]:
    """One of as many pieces along a dimension; the last ones may be shorter."""
    longest = share(shape[dim], pieces)
    cut = slice(min(piece * longest, shape[dim]), min((piece + 1) * longest, shape[dim]))
    return tuple(cut if at == dim else slice(0, size) for at, size in enumerate(shape))


def _interleaved(parts: Sequence["Tensor"], blocks: int) -> "Tensor":
    """Block by block, a piece of each part."""
    import torch

    if len(parts) == 1:
        return parts[0]
    return torch.cat([part.unflatten(0, (blocks, -1)) for part in parts], 1).flatten(0, 1)

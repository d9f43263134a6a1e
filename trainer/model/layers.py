"""Transformer layers from plain torch: megatron-core's local spec, for packed sequences shared by ranks.

megatron-core's own local attention knows neither packing nor context parallelism, and its norm knows no
sequence parallelism: on GPUs both come from Transformer Engine. These have the same arguments.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.packed_seq_params import PackedSeqParams
from megatron.core.tensor_parallel import gather_from_sequence_parallel_region
from megatron.core.transformer import TransformerConfig
from megatron.core.transformer.module import MegatronModule
from megatron.core.transformer.spec_utils import ModuleSpec
from megatron.core.transformer.transformer_block import TransformerBlockSubmodules
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from trainer.packing.microbatch import positions

LIKE_LENGTHS = 1.5
"""Sequences up to this much shorter than the longest attend side by side, padded."""


@dataclass
class Packed(PackedSeqParams):
    """What the layers must know of the sequences in a micro-batch."""

    lengths: tuple[int, ...] = ()

    @cached_property
    def buckets(self) -> list[Tensor]:
        """Positions of the sequences of like length [sequences, longest], -1 behind the end of each."""
        return _buckets(self.lengths)

    @cached_property
    def order(self) -> Tensor:
        """Where each position stands in the buckets, one after the other [T]."""
        return torch.cat([bucket[bucket >= 0] for bucket in self.buckets]).argsort()


def packed(lengths: Sequence[int], where: torch.device, *, shared: bool = False) -> Packed:
    """Sequences of these lengths, one after the other, whole or `shared` by context-parallel ranks."""
    ends = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32).to(where)
    # Transformer Engine wants them twice where sequences are shared; it is slower where they are given
    padded: Any = ends if shared else None
    longest = max(lengths)
    return Packed(
        qkv_format="thd",
        cu_seqlens_q=ends,
        cu_seqlens_kv=ends,
        cu_seqlens_q_padded=padded,
        cu_seqlens_kv_padded=padded,
        max_seqlen_q=longest,
        max_seqlen_kv=longest,
        lengths=tuple(lengths),
    )


class PackedAttention(MegatronModule):
    """Attention of every position to itself and what came before it in its own sequence."""

    def __init__(self, config: TransformerConfig, *_: Any, pg_collection: Any = None, **options: Any) -> None:
        super().__init__(config=config)
        self.scale = options.get("softmax_scale") or 1.0 / math.sqrt(config.kv_channels or 1)
        self.group = pg_collection.cp

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, *_: Any, packed_seq_params: Any, **__: Any
    ) -> Tensor:
        """Heads [T, heads, dim] to context [T, heads x dim]."""
        if self.group.size() > 1:
            return self._across_ranks(query, key, value, packed_seq_params.lengths)
        buckets = packed_seq_params.buckets
        contexts = [self._side_by_side(query, key, value, bucket) for bucket in buckets]
        return torch.cat(contexts)[packed_seq_params.order].flatten(1)

    def _side_by_side(self, query: Tensor, key: Tensor, value: Tensor, bucket_BL: Tensor) -> Tensor:
        """Context of the bucket's positions, sequence by sequence. Padding is last, so causality hides it."""
        q, k, v = (x[bucket_BL.clamp(min=0)].transpose(1, 2) for x in (query, key, value))
        return self._attend(q, k, v, is_causal=True).transpose(1, 2)[bucket_BL >= 0]

    def _across_ranks(self, query: Tensor, key: Tensor, value: Tensor, lengths: Sequence[int]) -> Tensor:
        """Own queries, everybody's keys and values. Plain, for hosts without CUDA: the mask is whole."""
        ranks, rank = self.group.size(), self.group.rank()
        k, v = (gather_from_sequence_parallel_region(x.contiguous(), group=self.group) for x in (key, value))
        own_T = torch.cat(positions(lengths, rank, ranks))
        all_S = torch.cat([place for r in range(ranks) for place in positions(lengths, r, ranks)])
        sequence = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
        seen_TS = (own_T[:, None] >= all_S) & (sequence[own_T][:, None] == sequence[all_S])
        q, k, v = (x.transpose(0, 1)[None] for x in (query, k, v))
        return self._attend(q, k, v, attn_mask=seen_TS.to(q.device))[0].transpose(0, 1).flatten(1)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, **mask: Any) -> Tensor:
        return scaled_dot_product_attention(
            q, k, v, scale=self.scale, enable_gqa=q.size(1) != k.size(1), **mask
        )


class RMSNorm(torch.nn.RMSNorm):
    """The norm, whose gradient is summed over tensor-parallel ranks where each has other positions."""

    def __init__(self, config: TransformerConfig, hidden_size: int, eps: float = 1e-5, **_: Any) -> None:
        super().__init__(hidden_size, eps=eps, dtype=config.params_dtype)
        self.weight.sequence_parallel = config.sequence_parallel  # type: ignore[attr-defined]


def block_spec(layers: int, *, qk_norm: bool) -> TransformerBlockSubmodules:
    """A pipeline stage's decoder layers, and the norm behind the last."""
    spec: ModuleSpec = get_gpt_layer_local_spec(qk_layernorm=qk_norm, normalization="RMSNorm")
    layer: Any = spec.submodules
    layer.input_layernorm = layer.pre_mlp_layernorm = RMSNorm
    attention = layer.self_attention.submodules
    attention.core_attention = PackedAttention
    if qk_norm:
        attention.q_layernorm = attention.k_layernorm = RMSNorm
    norm: Any = RMSNorm
    return TransformerBlockSubmodules(layer_specs=[spec] * layers, layer_norm=norm)


def _buckets(lengths: Sequence[int]) -> list[Tensor]:
    """Positions of the sequences of like length [sequences, longest], -1 behind the end of each."""
    starts = torch.tensor([0, *lengths[:-1]]).cumsum(0).tolist()
    buckets: list[list[tuple[int, int]]] = []
    for length, start in sorted(zip(lengths, starts, strict=True), key=lambda sequence: -sequence[0]):
        if buckets and buckets[-1][0][0] <= LIKE_LENGTHS * length:
            buckets[-1].append((length, start))
        else:
            buckets.append([(length, start)])
    return [_places(bucket) for bucket in buckets]


def _places(bucket: Sequence[tuple[int, int]]) -> Tensor:
    lengths_B1, starts_B1 = torch.tensor(bucket).t()[:, :, None]
    offsets_L = torch.arange(bucket[0][0])
    return torch.where(offsets_L < lengths_B1, starts_B1 + offsets_L, -1)

"""Transformer layers from plain torch: megatron-core's local spec, with torch's own attention kernel."""

import math
from typing import Any

from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.transformer import TransformerConfig
from megatron.core.transformer.module import MegatronModule
from megatron.core.transformer.spec_utils import ModuleSpec
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


class CausalAttention(MegatronModule):
    """Attention of every position to itself and what came before it.

    Sequences are padded on the right, so causality alone keeps padding from being seen.
    """

    def __init__(self, config: TransformerConfig, softmax_scale: float | None = None, **_: Any) -> None:
        super().__init__(config=config)
        self.scale = softmax_scale or 1.0 / math.sqrt(config.kv_channels or 1)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any) -> Tensor:
        """Heads [sequence, batch, heads, dim] to context [sequence, batch, heads x dim]."""
        q, k, v = (x.permute(1, 2, 0, 3) for x in (query, key, value))
        shared = q.size(1) != k.size(1)
        context = scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale, enable_gqa=shared)
        context = context.permute(2, 0, 1, 3)
        return context.reshape(*context.shape[:2], -1)


def layer_spec(*, qk_norm: bool) -> ModuleSpec:
    """One decoder layer."""
    spec = get_gpt_layer_local_spec(qk_layernorm=qk_norm, normalization="RMSNorm")
    layer: Any = spec.submodules
    layer.self_attention.submodules.core_attention = CausalAttention
    return spec

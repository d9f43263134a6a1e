"""Transformer layers of Transformer Engine, which alone multiplies in FP8: megatron-core's own spec of them.

They take the same packed sequences, shared by context-parallel ranks in the same pieces, and hold the same
parameters as layers.py, but for norms that lie in the matrices behind them (hf/parameters.py, unfused).
"""

from typing import Any

from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_with_transformer_engine_spec
from megatron.core.transformer.transformer_block import TransformerBlockSubmodules


def block_spec(layers: int, *, qk_norm: bool) -> TransformerBlockSubmodules:
    """A pipeline stage's decoder layers, and the norm behind the last. Only where the engine is installed."""
    from megatron.core.extensions.transformer_engine import TENorm

    spec = get_gpt_layer_with_transformer_engine_spec(qk_layernorm=qk_norm)
    norm: Any = TENorm
    return TransformerBlockSubmodules(layer_specs=[spec] * layers, layer_norm=norm)

"""The policy as a megatron-core GPTModel, shaped by an Architecture."""

from typing import Any

import torch
from megatron.core import parallel_state
from megatron.core.distributed import (
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.models.gpt import GPTModel
from megatron.core.tensor_parallel import vocab_parallel_cross_entropy
from megatron.core.transformer import TransformerConfig
from torch import Tensor

from trainer import precision
from trainer.architecture import Architecture
from trainer.layers import layer_spec
from trainer.precision import Precision

_UNFUSED: dict[str, Any] = dict.fromkeys(
    (
        "masked_softmax_fusion",
        "bias_activation_fusion",
        "bias_dropout_fusion",
        "apply_rope_fusion",
        "persist_layer_norm",
        "gradient_accumulation_fusion",
    ),
    False,
)
"""Kernels that want CUDA extensions: plain torch, the same everywhere, is used instead."""


def build(architecture: Architecture, wanted: Precision) -> DistributedDataParallel:
    """The model on this rank's device, weights not yet loaded, wrapped for data parallelism."""
    config = _config(architecture, wanted)
    model = GPTModel(
        config,
        layer_spec(qk_norm=architecture.family.qk_norm),
        vocab_size=architecture.vocabulary,
        max_sequence_length=architecture.max_positions,
        parallel_output=True,
        share_embeddings_and_output_weights=architecture.tied,
        position_embedding_type="rope",
        rotary_base=architecture.rope_theta,  # pyright: ignore[reportArgumentType]
        rope_scaling=architecture.rope_factor is not None,
        rope_scaling_factor=architecture.rope_factor or 1.0,
    )
    model.cuda(torch.cuda.current_device())
    parallel = DistributedDataParallelConfig(grad_reduce_in_fp32=True)
    return DistributedDataParallel(config, parallel, model.to(config.params_dtype))


def token_logprobs(logits_NV: Tensor, targets_N: Tensor, temperature_N: Tensor) -> Tensor:
    """Log-probability of each target under softmax(logits / temperature) [tokens], in float32.

    V is this tensor-parallel rank's share of the vocabulary.
    """
    # The division makes the copy that vocab_parallel_cross_entropy overwrites.
    scaled_NV = logits_NV.float() / temperature_N[:, None]
    return -vocab_parallel_cross_entropy(scaled_NV.unsqueeze(1), targets_N.unsqueeze(1)).squeeze(1)


def _config(architecture: Architecture, wanted: Precision) -> TransformerConfig:
    dtype: Any = precision.dtype(wanted)
    return TransformerConfig(
        num_layers=architecture.layers,
        hidden_size=architecture.hidden,
        num_attention_heads=architecture.heads,
        num_query_groups=architecture.kv_heads,
        kv_channels=architecture.head_dim,
        ffn_hidden_size=architecture.ffn,
        gated_linear_unit=True,
        activation_func=torch.nn.functional.silu,
        add_bias_linear=False,
        add_qkv_bias=architecture.family.qkv_bias,
        normalization="RMSNorm",
        layernorm_epsilon=architecture.norm_eps,
        qk_layernorm=architecture.family.qk_norm,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        tensor_model_parallel_size=parallel_state.get_tensor_model_parallel_world_size(),
        use_cpu_initialization=not torch.cuda.is_available(),
        params_dtype=dtype,
        pipeline_dtype=dtype,
        bf16=dtype is torch.bfloat16,
        **_UNFUSED,
        # Rows carry their own weight in the batch's mean, so gradients are summed and never rescaled.
        calculate_per_token_loss=True,
        finalize_model_grads_func=_sum_gradients,
    )


def _sum_gradients(model: list[torch.nn.Module], _: Tensor | None = None, **kwargs: Any) -> None:
    finalize_model_grads(model, None, **kwargs)

"""The policy as a megatron-core GPTModel, shaped by an Architecture."""

import math
from typing import Any

import torch
from megatron.core import parallel_state
from megatron.core.distributed import (
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.models.gpt import GPTModel
from megatron.core.tensor_parallel import (
    copy_to_tensor_model_parallel_region,
    gather_from_sequence_parallel_region,
)
from megatron.core.transformer import TransformerConfig
from megatron.core.transformer.transformer_block import get_num_layers_to_build
from torch import Tensor

from trainer import ranks
from trainer.config import Recompute, TrainerConfig
from trainer.model import engine, fp8, layers, precision, vocabulary
from trainer.model.architecture import Architecture, share
from trainer.model.vocabulary import Share, TokenScores

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
_RECOMPUTED: dict[Recompute, dict[str, Any]] = {
    "none": {},
    "selective": {"recompute_granularity": "selective"},
    "full": {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1},
}


def build(architecture: Architecture, settings: TrainerConfig) -> DistributedDataParallel:
    """The model on this rank's device, weights not yet loaded, wrapped for data parallelism.

    It ends before its output layer: called, a last stage gives hidden states [1, positions, hidden], and
    whoever wants log-probabilities has them from token_scores.
    """
    model = _network(architecture, settings, fp8.flags(settings))
    parallel = DistributedDataParallelConfig(
        grad_reduce_in_fp32=True,
        use_distributed_optimizer=True,
        overlap_grad_reduce=settings.overlap,
        overlap_param_gather=settings.overlap,
    )
    shared = DistributedDataParallel(model.config, parallel, model)
    if settings.overlap:
        model.config.no_sync_func = shared.no_sync
    return shared


def frozen(architecture: Architecture, settings: TrainerConfig) -> GPTModel:
    """The same for a model that is only asked: without room for gradients, and never in FP8.

    A delayed recipe would never learn its scales, and what is asked is to be right.
    """
    return _network(architecture, settings, {}).requires_grad_(requires_grad=False).eval()


def _network(architecture: Architecture, settings: TrainerConfig, quantised: dict[str, Any]) -> GPTModel:
    config = _config(architecture, settings, quantised)
    build_spec = engine.block_spec if settings.precision == "fp8" else layers.block_spec
    spec: Any = build_spec(get_num_layers_to_build(config), qk_norm=architecture.family.qk_norm)
    model = GPTModel(
        config,
        spec,
        # filled up to what the ranks share evenly; those after the model's own are never anybody's
        vocab_size=share(architecture.vocabulary, settings.tensor_parallel) * settings.tensor_parallel,
        max_sequence_length=architecture.max_positions,
        pre_process=parallel_state.is_pipeline_first_stage(),
        post_process=parallel_state.is_pipeline_last_stage(),
        parallel_output=True,
        share_embeddings_and_output_weights=architecture.tied,
        position_embedding_type="rope",
    )
    # megatron-core knows llama3 with one set of bounds only, and rounds otherwise than transformers.
    model.rotary_pos_emb.inv_freq = architecture.rope.frequencies(architecture.head_dim).to(ranks.device())
    if model.post_process:
        output_layer: Any = model.output_layer
        output_layer.forward = _handed_on
    model.cuda(torch.cuda.current_device())
    return model.to(config.params_dtype)


def token_scores(
    network: Any, architecture: Architecture, hidden_NH: Tensor, targets_N: Tensor, temperature_N: Tensor
) -> TokenScores:
    """Log-probability and entropy of each target under the output layer at a temperature [tokens].

    Hidden states are those of `whole`.
    """
    weight_VH = (
        network.shared_embedding_or_output_weight() if architecture.tied else network.output_layer.weight
    )
    first = parallel_state.get_tensor_model_parallel_rank() * len(weight_VH)
    own = Share(
        first=first,
        words=min(len(weight_VH), architecture.vocabulary - first),
        group=_tensor_parallel_group(),
    )
    return vocabulary.token_scores(hidden_NH, weight_VH, targets_N, temperature_N, own)


def whole(hidden_TH: Tensor, *, sequence_parallel: bool) -> Tensor:
    """All positions' hidden states on every tensor-parallel rank; gradients are summed over their words."""
    if sequence_parallel:
        return gather_from_sequence_parallel_region(hidden_TH)
    return copy_to_tensor_model_parallel_region(hidden_TH)


def _tensor_parallel_group() -> Any:
    alone = parallel_state.get_tensor_model_parallel_world_size() == 1
    return None if alone else parallel_state.get_tensor_model_parallel_group()


def _handed_on(hidden: Tensor, **_: Any) -> tuple[Tensor, None]:
    return hidden, None


def _config(
    architecture: Architecture, settings: TrainerConfig, quantised: dict[str, Any]
) -> TransformerConfig:
    dtype: Any = precision.dtype(settings.precision)
    return TransformerConfig(
        num_layers=architecture.layers,
        hidden_size=architecture.hidden,
        num_attention_heads=architecture.heads,
        num_query_groups=architecture.kv_heads,
        kv_channels=architecture.head_dim,
        # Rotated queries and keys both have the factor; all their dimensions are rotated.
        softmax_scale=architecture.rope.attention_factor**2 / math.sqrt(architecture.head_dim),
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
        tensor_model_parallel_size=settings.tensor_parallel,
        pipeline_model_parallel_size=settings.pipeline_parallel,
        context_parallel_size=settings.context_parallel,
        sequence_parallel=settings.sequence_parallel,
        variable_seq_lengths=settings.pipeline_parallel > 1,
        # There are no experts, but megatron-core lets lengths vary with this one only.
        moe_token_dispatcher_type="alltoall",  # noqa: S106
        use_cpu_initialization=not torch.cuda.is_available(),
        params_dtype=dtype,
        pipeline_dtype=dtype,
        bf16=dtype is torch.bfloat16,
        **quantised,
        **_UNFUSED,
        **_RECOMPUTED[settings.recompute],
        # Rows carry their own weight in the batch's mean, so gradients are summed and never rescaled.
        calculate_per_token_loss=True,
        finalize_model_grads_func=_sum_gradients,
    )


def _sum_gradients(model: list[torch.nn.Module], _: Tensor | None = None, **kwargs: Any) -> None:
    finalize_model_grads(model, None, **kwargs)

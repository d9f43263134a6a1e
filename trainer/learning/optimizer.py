"""The megatron optimizer (AdamW), its learning-rate schedule, and their part of a checkpoint."""

import math
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import torch
from megatron.core.distributed import DistributedDataParallel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler

from trainer.config import TrainerConfig
from trainer.model import precision

_LAYOUT = {
    "distrib_optim_sharding_type": "fully_reshardable",
    "singleton_local_shards": False,
    "chained_optim_avoid_prefix": True,
}
"""How a distributed state is written: to be read by any number of ranks."""


class Optimizer:
    """AdamW with gradient clipping and linear warm-up; data-parallel ranks share its state."""

    def __init__(self, config: TrainerConfig, model: DistributedDataParallel) -> None:
        dtype = precision.dtype(config.precision)
        settings = OptimizerConfig(
            optimizer="adam",
            lr=config.lr,
            weight_decay=config.weight_decay,
            adam_beta1=config.betas[0],
            adam_beta2=config.betas[1],
            adam_eps=config.adam_eps,
            clip_grad=config.clip_grad,
            params_dtype=dtype,
            bf16=dtype is torch.bfloat16,
            use_distributed_optimizer=True,
            overlap_param_gather=config.overlap,
        )
        self.model = model
        self._overlap = config.overlap
        self.megatron: Any = get_megatron_optimizer(settings, [model])
        for shared in self._shared():
            if _counts_in_each(shared.optimizer):
                _leave_steps(shared)
            _close_gaps(shared)
        self.schedule = _schedule(config, self.megatron)

    def zero_gradients(self) -> None:
        """Forget the gradients of the step before."""
        self.model.zero_grad_buffer()
        self.megatron.zero_grad()

    def step(self, *, usable: bool = True) -> tuple[float, bool]:
        """Apply the accumulated gradients; returns their norm before clipping, and whether they were applied.

        When they are not `usable`, or their norm is not finite, nothing moves: neither the weights nor
        Adam's state, which would carry the damage on.
        """
        self.megatron.prepare_grads()
        norm = float(self.megatron.clip_grad_norm(self.megatron.config.clip_grad))
        if not usable or not math.isfinite(norm):
            return norm, False
        self.schedule.step(1)
        self.megatron.step_with_ready_grads()
        return norm, True

    def settle(self) -> None:
        """Let the weights be those of the last step: with `overlap` only the next pass brings them."""
        if self._overlap:
            self.model.start_param_sync(force_sync=True)

    def sharded_state(self, model_state: dict[str, Any], *, loading: bool) -> dict[str, Any]:
        """This rank's part of the optimizer's state, for dist_checkpointing."""
        self._create_state()
        state = self.megatron.sharded_state_dict(model_state, is_loading=loading, metadata=_LAYOUT)
        return {"optimizer": state, "schedule": self.schedule.state_dict()}

    def load(self, state: dict[str, Any]) -> None:
        """Take over a loaded state. Learning rate and the like stay those of the config."""
        settings = [
            {name: value for name, value in group.items() if name not in ("params", "step")}
            for group in self.megatron.param_groups
        ]
        self.megatron.load_state_dict(state["optimizer"])
        self._part_steps()
        for group, own in zip(self.megatron.param_groups, settings, strict=True):
            group.update(own)
        self.schedule.load_state_dict(state["schedule"])

    def _create_state(self) -> None:
        """Give torch's AdamW the state that it would only create at its first step.

        Loading fills existing tensors, without `step` among them the resume would start it at 0; and a run
        may be saved before its first step.
        """
        for adam in self._adams():
            for group in adam.param_groups:
                for parameter in group["params"]:
                    if not adam.state[parameter]:
                        adam.state[parameter] = {
                            "step": torch.tensor(0.0),
                            "exp_avg": torch.zeros_like(parameter.data),
                            "exp_avg_sq": torch.zeros_like(parameter.data),
                        }

    def _part_steps(self) -> None:
        """A loaded distributed state has one `step` for all parameters, and torch's Adam counts in each."""
        for adam in self._adams():
            for state in adam.state.values():
                state["step"] = state["step"].clone()

    def _adams(self) -> Iterator[Any]:
        """Those whose state needs mending: torch's."""
        return (s.optimizer for s in self._shared() if _counts_in_each(s.optimizer))

    def _shared(self) -> list[Any]:
        """The distributed optimizers: megatron-core chains several, if there is need."""
        return getattr(self.megatron, "chained_optimizers", [self.megatron])


def _counts_in_each(adam: Any) -> bool:
    """Whether it counts its steps in the state of each parameter, as torch's Adam does.

    Where Transformer Engine is installed megatron-core takes its FusedAdam, which counts once for all.
    """
    return isinstance(adam, torch.optim.Adam | torch.optim.AdamW)


def _leave_steps(shared: Any) -> None:
    """megatron-core looks for Adam's `step` beside the moments of each parameter, where it writes none.

    (Apex and Transformer Engine keep it elsewhere.) What the state has of it is put there instead.
    """
    take_over = shared._set_main_param_and_optimizer_states

    def taking_over(parameter: Any, tensors: dict[str, Any]) -> None:
        group, place = shared.model_param_group_index_map[parameter]
        main = shared.optimizer.param_groups[group]["params"][place]
        take_over(parameter, {"step": shared.optimizer.state[main]["step"].clone(), **tensors})

    shared._set_main_param_and_optimizer_states = taking_over


def _close_gaps(shared: Any) -> None:
    """megatron-core writes the state without the gaps that fill up its buckets, but cuts it as if with them.

    With more than one bucket (several stages of a tied model, a large model with `overlap`) a checkpoint
    would hold shifted values, as it says itself ("can lead to data corruption").
    """
    cut_up = shared.sharded_param_state_fully_reshardable

    def cutting_up(*args: Any, **kwargs: Any) -> Any:
        with_gaps = [buffer.param_index_map for buffer in shared.buffers]
        for buffer in shared.buffers:
            buffer.param_index_map = _without_gaps(buffer)
        try:
            return cut_up(*args, **kwargs)
        finally:
            for buffer, places in zip(shared.buffers, with_gaps, strict=True):
                buffer.param_index_map = places

    shared.sharded_param_state_fully_reshardable = cutting_up


def _without_gaps(buffer: Any) -> dict[Any, tuple[int, int, int]]:
    """Where each parameter lies when buckets follow each other directly: start, end, bucket."""
    ends = accumulate((bucket.numel_unpadded for bucket in buffer.buckets), initial=0)
    gaps = [bucket.offset - end for bucket, end in zip(buffer.buckets, ends, strict=False)]
    places: dict[Any, tuple[int, int, int]] = {}
    for parameter, (start, end, bucket) in buffer.param_index_map.items():
        places[parameter] = start - gaps[bucket], end - gaps[bucket], bucket
    return places


def _schedule(config: TrainerConfig, megatron: Any) -> OptimizerParamScheduler:
    """Linear warm-up. It alone applies the exemption of norms and biases from weight decay, too."""
    return OptimizerParamScheduler(
        megatron,
        init_lr=0.0,
        max_lr=config.lr,
        min_lr=config.lr,
        lr_warmup_steps=config.warmup_steps,
        lr_decay_steps=config.warmup_steps + 1,
        lr_decay_style="constant",
        start_wd=config.weight_decay,
        end_wd=config.weight_decay,
        wd_incr_steps=0,
        wd_incr_style="constant",
        use_checkpoint_opt_param_scheduler=False,
        override_opt_param_scheduler=True,
    )

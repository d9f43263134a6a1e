"""The megatron optimizer (AdamW), its learning-rate schedule, and their part of a checkpoint."""

import math
from typing import Any

import torch
from megatron.core.distributed import DistributedDataParallel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler

from trainer import precision
from trainer.config import TrainerConfig


class Optimizer:
    """AdamW with gradient clipping and linear warm-up."""

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
        )
        self.model = model
        self.megatron: Any = get_megatron_optimizer(settings, [model])
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

    def sharded_state(self, model_state: dict[str, Any], *, loading: bool) -> dict[str, Any]:
        """This rank's part of the optimizer's state, for dist_checkpointing."""
        if loading:
            self._create_state()
        state = self.megatron.sharded_state_dict(model_state, is_loading=loading)
        return {"optimizer": state, "schedule": self.schedule.state_dict()}

    def load(self, state: dict[str, Any]) -> None:
        """Take over a loaded state. Learning rate and the like stay those of the config."""
        settings = [
            {name: value for name, value in group.items() if name not in ("params", "step")}
            for group in self.megatron.param_groups
        ]
        self.megatron.load_state_dict(state["optimizer"])
        for group, own in zip(self.megatron.param_groups, settings, strict=True):
            group.update(own)
        self.schedule.load_state_dict(state["schedule"])

    def _create_state(self) -> None:
        """Give torch's AdamW the state that it would only create at its first step.

        Loading fills existing tensors; without `step` among them the resume would start it at 0.
        """
        adam = self.megatron.optimizer
        for group in adam.param_groups:
            for parameter in group["params"]:
                if not adam.state[parameter]:
                    adam.state[parameter] = {
                        "step": torch.tensor(1.0),
                        "exp_avg": torch.zeros_like(parameter.data),
                        "exp_avg_sq": torch.zeros_like(parameter.data),
                    }


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

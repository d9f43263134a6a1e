"""GRPO steps as TRL takes them: the training part of its GRPOTrainer, on a batch that is there already.

TRL is installed by whoever wants the row: pip install trl. What it does per batch before that, padding and
advantages, is not counted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from benchmarks.trainer.load import LEARNING_RATE, POSITIONS, Load
from tests.models import a_tokenizer

_SETTINGS: dict[str, Any] = {
    "loss_type": "dapo", "epsilon": 0.2, "epsilon_high": 0.28, "beta": 0.0, "num_generations": 8,
    "learning_rate": LEARNING_RATE, "lr_scheduler_type": "constant", "adam_beta2": 0.95, "max_grad_norm": 1.0,
    "optim": "adamw_torch", "bf16": False, "gradient_checkpointing": False,
    "use_cpu": True, "report_to": [], "save_strategy": "no",
}  # fmt: skip
"""Our defaults in its words."""


@contextmanager
def trl_steps(policy: Path, load: Load) -> Iterator["Peer"]:
    """Files it writes go with the block. Raises ImportError without TRL."""
    with TemporaryDirectory() as directory:
        yield Peer(policy, load, directory)


class Peer:
    """Its trainer, model and optimizer."""

    def __init__(self, policy: Path, load: Load, directory: str) -> None:
        import datasets  # pyright: ignore[reportMissingImports]
        import transformers
        import trl  # pyright: ignore[reportMissingImports]

        inputs, width = _padded(load)
        rows = len(inputs["advantages"])
        side_by_side = max(n for n in range(1, rows + 1) if rows % n == 0 and n * width <= POSITIONS)
        self._parts = rows // side_by_side
        self._batches = [
            {
                name: tensor.split(side_by_side)[part] if tensor.dim() else tensor
                for name, tensor in inputs.items()
            }
            for part in range(self._parts)
        ]
        args = trl.GRPOConfig(
            directory,
            per_device_train_batch_size=side_by_side,
            gradient_accumulation_steps=self._parts,
            **_SETTINGS,
        )
        self._trainer: Any = trl.GRPOTrainer(
            model=transformers.AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32),
            reward_funcs=lambda completions, **_: [0.0] * len(completions),
            args=args,
            train_dataset=datasets.Dataset.from_list([{"prompt": ""}]),
            processing_class=a_tokenizer(["<unk>"], pad_token="<unk>", eos_token="<unk>"),
        )
        self._trainer._prepare_inputs = lambda inputs: inputs
        self._trainer.current_gradient_accumulation_steps = self._parts
        self._trainer.create_optimizer()

    def step(self) -> float:
        """One step; returns its loss."""
        trainer, loss = self._trainer, 0.0
        for batch in self._batches:
            loss += trainer.training_step(trainer.model, batch, None).item()
        trainer.accelerator.clip_grad_norm_(trainer.model.parameters(), 1.0)
        trainer.optimizer.step()
        trainer.model.zero_grad()
        return loss


def _padded(load: Load) -> tuple[dict[str, Tensor], int]:
    """The batch as TRL lays it out, prompts to the right and completions to the left, and how wide it is."""
    rows = [t for group in load.batch for t in group.trajectories]
    rewards = torch.tensor([t.reward for t in rows]).reshape(len(load.batch), -1)
    scaled = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-6)
    width, longest = load.prompt + load.completion, max(len(t.completion_ids) for t in rows)
    completions, mask = (torch.zeros(len(rows), longest, dtype=torch.int64) for _ in range(2))
    old = torch.zeros(len(rows), longest)
    for number, t in enumerate(rows):
        length = len(t.completion_ids)
        completions[number, :length] = torch.tensor(t.completion_ids.numpy())
        mask[number, :length], old[number, :length] = 1, torch.tensor(t.logprobs.numpy())
    prompts = torch.stack([torch.tensor(t.prompt_ids.numpy()).long() for t in rows])
    return {
        "prompt_ids": prompts,
        "prompt_mask": torch.ones_like(prompts),
        "completion_ids": completions,
        "completion_mask": mask,
        "advantages": scaled.flatten(),
        "old_per_token_logps": old,
        "num_items_in_batch": mask.sum(),
    }, width

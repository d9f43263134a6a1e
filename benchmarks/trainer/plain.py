"""GRPO steps as one writes them by hand: transformers, rows of like length side by side, torch's AdamW."""

from pathlib import Path

import torch
import transformers
from torch import Tensor

from benchmarks.trainer.load import LEARNING_RATE, POSITIONS, Load
from schemas import Trajectory


class Plain:
    """The clipped loss over all tokens, with DAPO's bounds, as our defaults have it."""

    def __init__(self, policy: Path, load: Load) -> None:
        self._model = transformers.AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32)
        self._optimizer = torch.optim.AdamW(
            self._model.parameters(), LEARNING_RATE, (0.9, 0.95), weight_decay=0.0
        )
        self._load = load

    def step(self) -> float:
        """One step; returns its loss."""
        rows = self._rows()
        total = sum(len(t.completion_ids) for t, _ in rows)
        self._optimizer.zero_grad()
        loss = 0.0
        for batch in _side_by_side(rows):
            part = self._loss(batch) / total
            part.backward()
            loss += part.item()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        self._optimizer.step()
        return loss

    def _rows(self) -> list[tuple[Trajectory, float]]:
        rows: list[tuple[Trajectory, float]] = []
        for group in self._load.batch:
            rewards = torch.tensor([t.reward for t in group.trajectories])
            advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
            rows += zip(group.trajectories, advantages.tolist(), strict=True)
        return sorted(rows, key=lambda row: -len(row[0].completion_ids))

    def _loss(self, batch: list[tuple[Trajectory, float]]) -> Tensor:
        width = max(len(t.prompt_ids) + len(t.completion_ids) for t, _ in batch)
        ids = torch.zeros(len(batch), width, dtype=torch.int64)
        old, mask, seen = (torch.zeros(len(batch), width) for _ in range(3))
        for row, (t, _) in enumerate(batch):
            start, end = len(t.prompt_ids), len(t.prompt_ids) + len(t.completion_ids)
            ids[row, :start], ids[row, start:end] = (
                torch.tensor(x.numpy()).long() for x in (t.prompt_ids, t.completion_ids)
            )
            old[row, start:end], mask[row, start:end] = torch.tensor(t.logprobs.numpy()), 1
            seen[row, :end] = 1
        logits = self._model(input_ids=ids, attention_mask=seen, use_cache=False).logits[:, :-1]
        new = torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None])[..., 0]
        ratio = (new - old[:, 1:]).exp()
        advantages = torch.tensor([advantage for _, advantage in batch])[:, None]
        loss = -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.28) * advantages)
        return (loss * mask[:, 1:]).sum()


def _side_by_side(rows: list[tuple[Trajectory, float]]) -> list[list[tuple[Trajectory, float]]]:
    """Micro-batches within POSITIONS; rows come longest first."""
    batches: list[list[tuple[Trajectory, float]]] = []
    for row in rows:
        width = (
            sum(map(len, (batches[-1][0][0].prompt_ids, batches[-1][0][0].completion_ids))) if batches else 0
        )
        if batches and (len(batches[-1]) + 1) * width <= POSITIONS:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches

"""A model and a batch to learn from, the same for everybody."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import torch
import transformers

import schemas
from schemas import FinishReason, Group, Origin, Query, Sampling, Trajectory, Verdict, VersionRun

LEARNING_RATE = 1e-5
POSITIONS = 8192
"""At once through the model, padding included."""


@dataclass(frozen=True)
class Load:
    """Groups of 8 random trajectories, half of them right, on a Llama of random weights."""

    name: str
    hidden: int
    layers: int
    words: int
    groups: int
    prompt: int
    completion: int
    """The longest one; the others are evenly shorter, down to an eighth, or ..."""
    even: bool = False
    """... all of that length."""

    @contextmanager
    def policy(self) -> Iterator[Path]:
        """Its directory, for the block."""
        torch.manual_seed(0)
        config = transformers.LlamaConfig(
            hidden_size=self.hidden, intermediate_size=3 * self.hidden, num_hidden_layers=self.layers,
            num_attention_heads=self.hidden // 32, num_key_value_heads=self.hidden // 64,
            vocab_size=self.words,
        )  # fmt: skip
        with TemporaryDirectory() as directory:
            transformers.LlamaForCausalLM(config).save_pretrained(directory)
            yield Path(directory)

    @cached_property
    def batch(self) -> list[Group]:
        """The same in every process."""
        random = Random(0)
        return [self._group(number, random) for number in range(self.groups)]

    @cached_property
    def tokens(self) -> int:
        """Positions that are learned from or lead up to it."""
        return sum(len(t.prompt_ids) + len(t.completion_ids) - 1 for g in self.batch for t in g.trajectories)

    def _group(self, number: int, random: Random) -> Group:
        query = Query(
            query_id=str(number), origin=Origin.PLAIN, position=number, attempt=0, question="", reference=""
        )
        prompt = [random.randrange(self.words) for _ in range(self.prompt)]
        return Group(
            group_id=str(number), query=query, sampling=Sampling(temperature=1.0), worker="", sampled_at=0.0,
            trajectories=tuple(self._trajectory(prompt, row, random) for row in range(8)),
        )  # fmt: skip

    def _trajectory(self, prompt: list[int], row: int, random: Random) -> Trajectory:
        length = self.completion if self.even else self.completion * (random.randrange(8) + 1) // 8
        # as the policy would have them, with little said for or against any word
        logprobs = np.log(1 / self.words) + 0.1 * np.array([random.gauss(0, 1) for _ in range(length)])
        return Trajectory(
            prompt_ids=schemas.ids(prompt),
            completion_ids=schemas.ids([random.randrange(self.words) for _ in range(length)]),
            logprobs=schemas.floats(np.minimum(logprobs, 0)),
            policy=(VersionRun(policy_version=0, count=length),),
            text="", reward=float(row % 2), verdict=Verdict.RIGHT if row % 2 else Verdict.WRONG,
            finish_reason=FinishReason.STOP,
        )  # fmt: skip

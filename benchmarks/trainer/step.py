"""Tokens a second of an optimization step: ours, and the plain loop in turn with it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import torch

from benchmarks.rows import Finding, Wanted, row
from benchmarks.trainer.load import LEARNING_RATE, POSITIONS, Load
from benchmarks.trainer.plain import Plain
from mentor_stream.config import parse_section

SAME_LOSS = 1e-4
"""Or else it is not the same step."""


def against_plain(load: Load, rounds: int) -> Iterator[Finding]:
    """Both in this process, one thread, after a step of each that does not count."""
    torch.set_num_threads(1)
    with load.policy() as policy:
        ours, plain = _learner(policy, load), Plain(policy, load)
        first = ours(), plain.step()
        if abs(first[0] - first[1]) > SAME_LOSS:
            raise AssertionError(f"the losses of the first step are {first[0]} and {first[1]}")
        own, theirs = list[float](), list[float]()
        for _ in range(rounds):
            own.append(_seconds(ours))
            theirs.append(_seconds(plain.step))
    rate, baseline = load.tokens / median(own), load.tokens / median(theirs)
    yield row(f"trainer.step.{load.name}", rate, "tokens/s", baseline), Wanted("ratio", "at least", 1.0)


def _learner(policy: Path, load: Load) -> Callable[[], float]:
    from trainer.config import TrainerConfig
    from trainer.learning.learner import Learner
    from trainer.model import architecture

    settings = {"lr": LEARNING_RATE, "max_tokens_per_microbatch": POSITIONS}
    config = parse_section(TrainerConfig, settings, "trainer")
    learner = Learner(config, policy, architecture.read(policy))

    def step() -> float:
        taken = learner.step(load.batch)
        assert taken
        return taken.loss

    return step


def _seconds(step: Callable[[], float]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began

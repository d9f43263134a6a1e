"""Tokens a second of an optimization step: ours, and others' in turn with it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import torch

from benchmarks.rows import Finding, Wanted, row
from benchmarks.trainer.load import LEARNING_RATE, POSITIONS, Load
from benchmarks.trainer.peer import trl_steps
from benchmarks.trainer.plain import Plain
from mentor_stream.config import parse_section
from trainer.config import TrainerConfig
from trainer.model.precision import Precision

Step = Callable[[], float]
"""Takes one and gives its loss."""
LARGE = Load("large", hidden=4096, layers=4, words=32_000, groups=8, prompt=128, completion=1024)
"""For a GPU: matrices that FP8 is worth its while on."""
SAME_LOSS = 1e-4
"""Or else it is not the same step."""


def against_plain(load: Load, rounds: int) -> Iterator[Finding]:
    """Beside the loop that one writes by hand."""
    with load.policy() as policy:
        ours, plain = _learner(policy, load), Plain(policy, load)
        yield _in_turn(f"trainer.step.{load.name}", load, ours, plain.step, rounds)


def against_trl(load: Load, rounds: int) -> Iterator[Finding]:
    """Beside TRL's trainer. Raises ImportError where it is not installed."""
    with load.policy() as policy, trl_steps(policy, load) as trl:
        ours = _learner(policy, load)
        yield _in_turn(f"trainer.step.{load.name}.trl", load, ours, trl.step, rounds)


def in_fp8(rounds: int) -> Iterator[Finding]:
    """Steps in FP8 beside steps in bf16."""
    with LARGE.policy() as policy:
        ours, bf16 = (_learner(policy, LARGE, precision=precision) for precision in ("fp8", "bf16"))
        yield _in_turn(f"trainer.step.{LARGE.name}.fp8", LARGE, ours, bf16, rounds, alike=1e-1)


def packing(load: Load, rounds: int) -> Iterator[Finding]:
    """What is done with a batch before its step, and behind the step before where a run is under way."""
    from trainer.packing.shares import shares

    with load.policy() as policy:
        step = _learner(policy, load)
        config = _config()
        step()
        taken = [(_seconds(lambda: shares(load.batch, config)), _seconds(step)) for _ in range(rounds)]
    packed, baseline = (1e3 * median(way) for way in zip(*taken, strict=True))
    yield row(f"trainer.packing.{load.name}", packed, "ms", baseline), Wanted("ratio", "at most", 0.05)


def _in_turn(
    name: str, load: Load, ours: Step, theirs: Step, rounds: int, alike: float = SAME_LOSS
) -> Finding:
    """Both in this process, one thread, after a step of each that does not count."""
    torch.set_num_threads(1)
    first = ours(), theirs()
    if abs(first[0] - first[1]) > alike:
        raise AssertionError(f"the losses of the first step are {first[0]} and {first[1]}")
    taken = [(_seconds(ours), _seconds(theirs)) for _ in range(rounds)]
    rate, baseline = (load.tokens / median(way) for way in zip(*taken, strict=True))
    return row(name, rate, "tokens/s", baseline), Wanted("ratio", "at least", 1.0)


def _learner(policy: Path, load: Load, precision: Precision = "fp32") -> Step:
    from trainer.learning.learner import Learner
    from trainer.model import architecture
    from trainer.packing.shares import shares

    config = _config(precision)
    learner = Learner(config, policy, architecture.read(policy))

    def step() -> float:
        [share] = shares(load.batch, config)
        taken = learner.step(share)
        assert taken
        return taken.loss

    return step


def _config(precision: Precision = "fp32") -> TrainerConfig:
    settings = {"lr": LEARNING_RATE, "max_tokens_per_microbatch": POSITIONS, "precision": precision}
    return parse_section(TrainerConfig, settings, "trainer")


def _seconds(step: Callable[[], object]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began

"""The trainer as a component: what must hold before it starts, and its start."""

import os
import sys
from collections.abc import Iterator

from mentor_stream.component import Component
from mentor_stream.config import Config
from mentor_stream.topics import TopicsConfig
from trainer import architecture, parameters, tensorfiles
from trainer.architecture import Architecture, UnsupportedModel
from trainer.config import TrainerConfig


def check(config: Config) -> Iterator[str]:
    """Problems that can be seen without loading the model."""
    from trainer import precision

    settings = config.of(TrainerConfig)
    if problem := precision.problem(settings.precision):
        yield problem
    if settings.publish_every > config.run.max_staleness + 1:
        yield (
            f"trainer.publish_every is {settings.publish_every}: samples of the last release are stale after "
            f"run.max_staleness + 1 = {config.run.max_staleness + 1} batches. Set it to that or less."
        )
    yield from _policy_problems(config, settings)


def _policy_problems(config: Config, settings: TrainerConfig) -> Iterator[str]:
    policy = config.run.policy
    if not policy.is_dir():
        what = "not a directory" if policy.exists() else "no such directory"
        yield f"run.policy is {str(policy)!r}: {what}. Give a Hugging Face model's directory."
        return
    wanted = {"config.json": "config.json", "tokenizer*": "tokenizer"}
    for pattern, what in wanted.items():
        if not any(policy.glob(pattern)):
            yield f"run.policy is {str(policy)!r}: it holds no {what} ({pattern})."
            if pattern == "config.json":
                return
    try:
        model = architecture.read(policy)
        tensorfiles.checked(policy, parameters.shapes(model))
        yield from _parallel_problems(model, settings)
    except (UnsupportedModel, OSError) as error:
        yield f"run.policy is {str(policy)!r}: {error}."


def _parallel_problems(model: Architecture, settings: TrainerConfig) -> Iterator[str]:
    for part in architecture.indivisible(model, settings.tensor_parallel):
        yield f"trainer.tensor_parallel is {settings.tensor_parallel}: it does not divide the model's {part}."
    if model.layers % settings.pipeline_parallel:
        yield (
            f"trainer.pipeline_parallel is {settings.pipeline_parallel}: it does not divide the model's "
            f"layers ({model.layers})."
        )


def run(config: Config) -> None:
    """Train until the run is over or the process is asked to stop.

    With more than one rank the process becomes torchrun, which starts this once per rank.
    """
    ranks = config.of(TrainerConfig).ranks
    if ranks > 1 and "RANK" not in os.environ:
        torchrun = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            f"--nproc-per-node={ranks}",
        ]
        os.execv(sys.executable, [*torchrun, "-m", "trainer", str(config.path)])  # noqa: S606
    from trainer import cpu

    cpu.install()
    from trainer import loop

    loop.run(config)


component = Component(name="trainer", sections=(TrainerConfig, TopicsConfig), run=run, check=check)

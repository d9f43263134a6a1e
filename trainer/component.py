"""The trainer as a component: what must hold before it starts, and its start."""

import sys
from collections.abc import Iterator
from pathlib import Path

from mentor_stream.component import Component
from mentor_stream.config import Config
from mentor_stream.topics import TopicsConfig
from trainer import launch
from trainer.config import TrainerConfig
from trainer.hf import parameters, tensorfiles
from trainer.model import architecture, fp8, hardware
from trainer.model.architecture import Architecture, UnsupportedModel


def check(config: Config) -> Iterator[str]:
    """Problems that can be seen without loading the model."""
    settings = config.of(TrainerConfig)
    if settings.precision == "fp8" and (problem := fp8.problem(hardware.found(), settings.fp8_recipe)):
        yield problem
    if settings.publish_every > config.run.max_staleness + 1:
        yield (
            f"trainer.publish_every is {settings.publish_every}: samples of the last release are stale after "
            f"run.max_staleness + 1 = {config.run.max_staleness + 1} batches. Set it to that or less."
        )
    if settings.minibatches > config.run.batch_groups:
        yield (
            f"trainer.minibatches is {settings.minibatches}: a batch has no more than run.batch_groups = "
            f"{config.run.batch_groups} groups to part. Set it to that or less."
        )
    policy = config.run.policy
    yield from _model_problems("run.policy", policy, settings, tokenizer=True)
    if settings.reference is not None:
        problems = list(_model_problems("trainer.reference", settings.reference, settings, tokenizer=False))
        yield from problems or _reference_problems(settings.reference, policy)


def _model_problems(setting: str, place: Path, settings: TrainerConfig, *, tokenizer: bool) -> Iterator[str]:
    if not place.is_dir():
        what = "not a directory" if place.exists() else "no such directory"
        yield f"{setting} is {str(place)!r}: {what}. Give a Hugging Face model's directory."
        return
    wanted = {"config.json": "config.json"} | ({"tokenizer*": "tokenizer"} if tokenizer else {})
    for pattern, what in wanted.items():
        if not any(place.glob(pattern)):
            yield f"{setting} is {str(place)!r}: it holds no {what} ({pattern})."
            if pattern == "config.json":
                return
    try:
        model = architecture.read(place)
        tensorfiles.checked(place, parameters.shapes(model))
        yield from _parallel_problems(model, settings)
    except (UnsupportedModel, OSError) as error:
        yield f"{setting} is {str(place)!r}: {error}."


def _reference_problems(reference: Path, policy: Path) -> Iterator[str]:
    try:
        known, wanted = (architecture.read(place).vocabulary for place in (reference, policy))
    except (UnsupportedModel, OSError):
        return  # of the policy, which is told elsewhere
    if known < wanted:
        yield (
            f"trainer.reference is {str(reference)!r}: it knows {known} tokens, and run.policy {wanted}. "
            "Give a model with the policy's tokenizer."
        )


def _parallel_problems(model: Architecture, settings: TrainerConfig) -> Iterator[str]:
    for part in architecture.indivisible(model, settings.tensor_parallel):
        yield f"trainer.tensor_parallel is {settings.tensor_parallel}: it does not divide the model's {part}."
    if model.layers % settings.pipeline_parallel:
        yield (
            f"trainer.pipeline_parallel is {settings.pipeline_parallel}: it does not divide the model's "
            f"layers ({model.layers})."
        )
    yield from fp8.problems(settings, model)


def run(config: Config) -> None:
    """Train until the run is over or the process is asked to stop.

    With more than one rank this starts itself once for each, unless it is one of them.
    """
    ranks = config.of(TrainerConfig).ranks
    if launch.is_rank():
        launch.end_with_starter()
        launch.check(ranks)
    elif ranks > 1:
        if code := launch.run([sys.executable, "-m", "trainer", str(config.path)], ranks):
            sys.exit(code)
        return
    from trainer.model import cpu

    cpu.install()
    from trainer import loop

    loop.run(config)


component = Component(name="trainer", sections=(TrainerConfig, TopicsConfig), run=run, check=check)

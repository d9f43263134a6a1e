"""The trainer as a component: what must hold before it starts, and its start."""

import sys
from collections.abc import Iterator
from pathlib import Path

from mentor_stream import snapshots
from mentor_stream.component import Component
from mentor_stream.config import Config
from mentor_stream.metrics import listening, server
from mentor_stream.metrics.health import BROKER, TRAINING
from mentor_stream.metrics.health import OWN as HEALTH
from mentor_stream.sampling import RolloutConfig, missing_model
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
    if (store := config.run.snapshots) and not any(snapshots.problems(store)):
        yield from filter(None, [snapshots.missing(store) or snapshots.probe(store)])
    yield from _sending_problems(config)
    policy = config.run.policy
    yield from _model_problems("run.policy", policy, settings, tokenizer=True)
    if settings.reference is not None:
        problems = list(_model_problems("trainer.reference", settings.reference, settings, tokenizer=False))
        yield from problems or _reference_problems(settings.reference, policy)


def _sending_problems(config: Config) -> Iterator[str]:
    """What of the servers' side decides whether the trainer can send weights."""
    rollout = config.sections.get(RolloutConfig.table)
    wanted = rollout.engine.get("weights") if isinstance(rollout, RolloutConfig) else None
    if wanted == "nccl" and not hardware.has_gpu():
        yield (
            "rollout.engine.weights is 'nccl': torch sees no GPU on this machine, from which the trainer "
            "would send them. Set it to 'gloo', which needs none, or run the trainer where its GPUs are."
        )


def _model_problems(setting: str, place: Path, settings: TrainerConfig, *, tokenizer: bool) -> Iterator[str]:
    if why := missing_model(setting, place):
        yield why
        return
    if tokenizer and not any(place.glob("tokenizer*")):
        yield f"{setting} is {str(place)!r}: it holds no tokenizer (tokenizer*)."
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
        launch.take_part(ranks)
    elif ranks > 1:
        if code := launch.run([sys.executable, "-m", "trainer", str(config.path)], ranks):
            sys.exit(code)
        return
    if launch.rank() != 0:  # the others end with rank 0, and have nothing to tell
        _train(config)
        return
    HEALTH.watch(TRAINING, listening.settings(config).step_stuck_after_seconds)
    HEALTH.needs(BROKER)
    with server.serving(config, "trainer"):
        _train(config)


def _train(config: Config) -> None:
    from trainer.model import cpu

    cpu.install()
    from trainer import loop

    loop.run(config)


component = Component(name="trainer", sections=(TrainerConfig, TopicsConfig), run=run, check=check)

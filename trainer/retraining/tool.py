"""What `mentor-stream retrain` does, as it finds it by entry point (mentor_stream/tools.py)."""

import os
import sys
from pathlib import Path

from mentor_stream import component, disk, snapshots
from mentor_stream.config import Config, ConfigError, RunConfig
from trainer import checkpoint as checkpoints
from trainer import journal, launch
from trainer.config import TrainerConfig
from trainer.journal import Batch
from trainer.retraining import batches as cut
from trainer.retraining import request as requests
from trainer.retraining.recorded import arrivals, opened
from trainer.retraining.request import Request


def retrain(
    recorded: Config,
    run: str,
    trainer: Path | None,
    folder: Path,
    *,
    batches: Path | None,
    rebatch: bool,
    checkpoint: Path | None,
    until: int | None,
    as_json: bool,
) -> None:
    """Train on what `run` has recorded, as the file `trainer` or its own config says, and print each step.

    Raises ConfigError, BrokerError; SystemExit where it was asked to stop, or a rank failed.
    """
    config = _trains(trainer) if trainer else recorded
    component.check(config, [component.components()["trainer"]])
    with disk.writing("--to", folder):
        _check_folder(folder, recorded.run.directory)
    place = None if rebatch else batches or recorded.run.directory / "batches.jsonl"
    known = None if place is None else _batches(place)
    version = 0 if checkpoint is None else _begin(checkpoint, config.run.policy)
    if until is not None and until <= version:
        raise ConfigError(f"--until is {until}: the --checkpoint is of version {version}. Name a later one.")
    if known is not None and len(known) <= version:
        raise ConfigError(f"--checkpoint is of version {version}: {place} ends there. Name an earlier one.")
    _check_recorded(recorded.run.broker, run, known[version] if known else None)
    disk.check_folder("--to", folder)  # or it would show after the first step
    request = Request(
        url=recorded.run.broker,
        run=run,
        config=config.path.resolve(),
        folder=folder.resolve(),
        batches=place.resolve() if place else None,
        checkpoint=checkpoint.resolve() if checkpoint else None,
        until=until,
        as_json=as_json,
    )
    ranks = config.of(TrainerConfig).ranks
    if ranks == 1:
        _train(request, config)
    elif code := launch.run([sys.executable, "-m", "trainer.retraining", requests.encode(request)], ranks):
        sys.exit(code)


def one_rank(text: str) -> None:
    """One of several, as launch.py has started it."""
    request = requests.decode(text)
    config = _trains(request.config)
    launch.take_part(config.of(TrainerConfig).ranks)
    _train(request, config)


def _trains(path: Path) -> Config:
    """What training reads of a file, which needs nothing else. Raises ConfigError."""
    return component.load_sections(path, RunConfig, *component.components()["trainer"].sections)


def _train(request: Request, config: Config) -> None:
    from trainer.model import cpu

    cpu.install()
    from trainer.retraining import run

    run.run(request, config)


def _batches(place: Path) -> list[Batch]:
    """Raises ConfigError for a file that is not there, or holds nothing to train on."""
    known = journal.read(place)
    if not known:
        problem = "there is no batch in it" if place.exists() else "there is no such file"
        raise ConfigError(
            f"{place}: {problem}: the run was not trained, or elsewhere. Give that run's file with "
            "--batches, or cut batches of what it recorded with --rebatch"
        )
    cut.check(known, place)
    return known


def _check_recorded(url: str, run: str, first: Batch | None) -> None:
    """Raises BrokerError for a run that is not there, ConfigError for one without groups or those of `first`.

    That one tells, as a rule: the oldest is what retention takes, and of another run's batches none is there.
    As much is read as training reads for it, once more.
    """
    with opened(url, run) as (portal, found):
        if not found.holds_any:
            raise ConfigError(
                f"run {run} has no group to train on: it has sampled none, or it is a replay, which has "
                "hints and diagnoses only. With --from name the run that was replayed"
            )
        if first is not None:
            next(cut.as_recorded([first], arrivals(portal, found)))


def _begin(place: Path, policy: Path) -> int:
    """The version of a checkpoint.

    Raises ConfigError for what is no whole checkpoint, or one of another policy.
    """
    try:
        state = checkpoints.read(place).state
    except (snapshots.SnapshotError, OSError, ValueError) as error:
        why = error if place.is_dir() else "no such directory"
        raise ConfigError(
            f"--checkpoint is {str(place)!r}: {why}. Name one of the run's checkpoints/"
        ) from error
    if state.policy != snapshots.identity(policy):
        raise ConfigError(
            f"--checkpoint is {str(place)!r}: it started from another policy than run.policy, "
            f"{str(policy)!r}. Set that back"
        )
    return state.version


def _check_folder(folder: Path, directory: Path) -> None:
    """Raises ConfigError for a folder that is somebody's, most of all the recorded run's."""
    wanted, taken = Path(os.path.realpath(folder)), directory.resolve()  # a loop of links is told later
    if wanted == taken or taken in wanted.parents:
        raise ConfigError(f"--to is {str(folder)!r}: that is in the recorded run's directory. Name another.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"--to is {str(folder)!r}: something is there already. Name a folder that is not.")

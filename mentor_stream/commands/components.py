"""`mentor-stream feed`, `rollout`, `mentor`, `train`, `evaluate`: one component of a run."""

import errno
from pathlib import Path

import typer

from mentor_stream.commands.arguments import ConfigFile

app = typer.Typer()


class Passing(Exception):
    """What stopped a component, in a line for each cause, and may be over when it is started again."""


@app.command(epilog="Example: mentor-stream feed examples/chain/demo.toml")
def feed(config: ConfigFile) -> None:
    """Put questions on the stream, as training takes them."""
    _run("feeder", config)


@app.command(epilog="Example: mentor-stream rollout examples/chain/demo.toml")
def rollout(config: ConfigFile) -> None:
    """Sample and score groups with the newest policy. Start as many as you like."""
    _run("rollout", config)


@app.command(epilog="Example: mentor-stream mentor examples/chain/demo.toml")
def mentor(config: ConfigFile) -> None:
    """Read collapsed groups and publish guided queries. Start as many as you like."""
    _run("mentor", config)


@app.command(epilog="Example: mentor-stream train examples/chain/demo.toml")
def train(config: ConfigFile) -> None:
    """Train on the groups that arrive, release new policies."""
    _run("trainer", config)


@app.command(epilog="Example: mentor-stream evaluate examples/chain/demo.toml")
def evaluate(config: ConfigFile) -> None:
    """Measure held-out accuracy, without hints, policy by policy."""
    _run("evaluator", config)


def _run(name: str, config: Path) -> None:
    from mentor_stream.component import check, components, load_config

    loaded = load_config(config)
    check(loaded, [components()[name]])
    typer.echo(f"{name}: run {loaded.run.name} on {loaded.run.broker}; Ctrl-C stops it", err=True)
    try:
        components()[name].run(loaded)
    except Exception as error:
        if said := _passing(error):
            raise Passing("\n".join(said)) from error
        raise


def _passing(error: Exception) -> list[str]:
    """The causes, if all are of a broker, a store or a disk that may be well again; else none."""
    from mentor_stream.causes import causes

    found = causes(error)
    return list(map(str, found)) if all(map(_passes, found)) else []


def _passes(cause: Exception) -> bool:
    from mentor_stream.broker.base import BrokerError, OffsetGap
    from mentor_stream.snapshots import SnapshotError

    if isinstance(cause, OffsetGap):  # it stays until somebody decides about it
        return False
    full = isinstance(cause, OSError) and cause.errno == errno.ENOSPC
    return full or isinstance(cause, BrokerError | SnapshotError)

"""`mentor-stream feed`, `rollout`, `mentor`, `train`, `evaluate`: one component of a run."""

from pathlib import Path

import typer

from mentor_stream.commands.arguments import ConfigFile

app = typer.Typer()


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
    from mentor_stream import exits
    from mentor_stream.component import check, components, load_config

    loaded = load_config(config)
    check(loaded, [components()[name]])
    typer.echo(f"{name}: run {loaded.run.name} on {loaded.run.broker}; Ctrl-C stops it", err=True)
    try:
        components()[name].run(loaded)
    except Exception as error:
        if (end := exits.of_component(error)) is None:
            raise
        exits.say_and_leave(end)

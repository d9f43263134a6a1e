"""The command line. Starting it imports typer only; each command imports what it needs."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from mentor_stream.commands import ConfigFile, dead_letters, topics

app = typer.Typer(
    name="mentor-stream",
    help="Reinforcement learning that turns questions nobody could answer into lessons.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

app.add_typer(topics.app, name="topics")
app.add_typer(dead_letters.app, name="dead-letters")


def _component(name: str, config: Path) -> None:
    from mentor_stream.component import check, components, load_config

    loaded = load_config(config)
    check(loaded, [components()[name]])
    typer.echo(f"{name}: run {loaded.run.name} on {loaded.run.broker}; Ctrl-C stops it", err=True)
    components()[name].run(loaded)


@app.command(epilog="Example: mentor-stream feed examples/chain/demo.toml")
def feed(config: ConfigFile) -> None:
    """Put questions on the stream, no faster than training takes them."""
    _component("feeder", config)


@app.command(epilog="Example: mentor-stream rollout examples/chain/demo.toml")
def rollout(config: ConfigFile) -> None:
    """Sample and score groups with the newest policy. Start as many as you like."""
    _component("rollout", config)


@app.command(epilog="Example: mentor-stream mentor examples/chain/demo.toml")
def mentor(config: ConfigFile) -> None:
    """Read collapsed groups and publish guided queries. Start as many as you like."""
    _component("mentor", config)


@app.command(epilog="Example: mentor-stream train examples/chain/demo.toml")
def train(config: ConfigFile) -> None:
    """Train on the groups that arrive and release new policy versions."""
    _component("trainer", config)


@app.command(epilog="Example: mentor-stream evaluate examples/chain/demo.toml")
def evaluate(config: ConfigFile) -> None:
    """Measure accuracy on held-out questions, without hints, as releases appear."""
    _component("evaluator", config)


@app.command(epilog="Example: mentor-stream up examples/chain/demo.toml")
def up(config: ConfigFile) -> None:
    """Run every component of CONFIG on this machine, watch over them, and show how training goes.

    The same command resumes an interrupted run.
    """
    from mentor_stream.component import check, load_config
    from mentor_stream.supervisor import up as supervise

    loaded = load_config(config)
    check(loaded)
    sys.exit(supervise(loaded))


@app.command(epilog="Example: mentor-stream check examples/chain/demo.toml")
def check(
    config: ConfigFile,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as one JSON object.")] = False,
) -> None:
    """Validate CONFIG and everything it points to, without starting anything."""
    from contextlib import redirect_stdout

    from mentor_stream.component import check as check_config
    from mentor_stream.component import load_config
    from mentor_stream.config import ConfigError

    problems: list[str] = []
    defect: Exception | None = None
    try:
        with redirect_stdout(sys.stderr):  # a plugin may print when it is imported
            check_config(load_config(config))
    except ConfigError as error:
        problems = str(error).splitlines()
    except Exception as error:  # of ours: who reads JSON gets it, and the traceback follows
        problems, defect = [f"the check itself failed: {type(error).__name__}: {error}"], error
    if json:
        import json as jsonlib

        typer.echo(jsonlib.dumps({"config": str(config), "ok": not problems, "problems": problems}))
    else:
        for problem in problems:
            typer.echo(problem, err=True)
        if not problems:
            typer.echo(f"{config} is fine.")
    if defect:
        raise defect
    sys.exit(2 if problems else 0)


@app.command(epilog="Example: mentor-stream schemas --json > schemas.json")
def schemas(
    json: Annotated[bool, typer.Option("--json", help="Print JSON Schema of every record.")] = False,
) -> None:
    """List the records on the stream, or export their JSON Schema."""
    import json as jsonlib

    import schemas as records

    if json:
        typer.echo(jsonlib.dumps(records.json_schemas(), indent=2))
        return
    for name, record in records.RECORDS.items():
        typer.echo(f"{name} (version {record.VERSION}): {(record.__doc__ or '').splitlines()[0]}")


def main() -> None:
    """Entry point. What a user can mend is a clear line and exit code 2; anything unexpected a traceback."""
    try:
        app()
    except Exception as error:
        causes = _causes(error)
        if not all(map(_is_users, causes)):
            raise
        for cause in causes:
            typer.echo(f"mentor-stream: {cause}", err=True)
        sys.exit(2)


def _causes(error: BaseException) -> list[BaseException]:
    """The single errors of a group, as task groups raise them."""
    if isinstance(error, BaseExceptionGroup):
        return [cause for member in error.exceptions for cause in _causes(member)]
    return [error]


def _is_users(error: BaseException) -> bool:
    from mentor_stream.broker.base import BrokerError
    from mentor_stream.config import ConfigError
    from mentor_stream.snapshots import SnapshotError

    return isinstance(error, ConfigError | BrokerError | SnapshotError)


if __name__ == "__main__":
    main()

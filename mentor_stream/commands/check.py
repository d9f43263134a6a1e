"""`mentor-stream check`: what is wrong with a config, before anything is started."""

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from mentor_stream.commands.arguments import ConfigFile

app = typer.Typer()

ANSWER_SECONDS = 3.0
"""So long a broker is waited for."""


@app.command(epilog="Example: mentor-stream check examples/chain/demo.toml")
def check(
    config: ConfigFile,
    component: Annotated[
        str | None, typer.Option(help="This one's part alone: feeder, rollout, mentor, trainer, evaluator.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as one JSON object.")] = False,
) -> None:
    """Validate CONFIG and what it points to; start nothing."""
    from contextlib import redirect_stdout

    from mentor_stream import legible

    problems: list[str] = []
    defect: Exception | None = None
    with redirect_stdout(sys.stderr), _heard() as warnings:  # a plugin may print when it is imported
        try:
            problems = _problems(config, component)
        except Exception as error:  # of ours: who reads JSON gets it, and the traceback follows
            problems, defect = [f"the check itself failed: {type(error).__name__}: {error}"], error
    if not problems:
        warnings += _silence(config)
    if json:
        import json as jsonlib

        found = {"config": str(config), "ok": not problems, "problems": problems, "warnings": warnings}
        typer.echo(jsonlib.dumps(found))
    else:
        for said in [*(f"warning: {warning}" for warning in warnings), *problems]:
            typer.echo("\n".join(map(legible.line, said.split("\n"))), err=True)
        if not problems:
            but = f" but for {len(warnings)} warning{'s' * (len(warnings) > 1)}" if warnings else ""
            typer.echo(f"{legible.line(str(config))} is fine{but}.")
    if defect:
        raise defect
    sys.exit(2 if problems else 0)


def _problems(path: Path, component: str | None) -> list[str]:
    """Of form, and of what sound sections point to, those of one component or of all."""
    from mentor_stream.component import check, checkable, components, load_config
    from mentor_stream.config import ConfigError, Malformed

    which = [one for name, one in components().items() if component in (None, name)]
    if not which:
        return [f"--component {component}: known are {', '.join(components())}"]
    problems: list[str] = []
    try:
        try:
            check(load_config(path), which)
        except Malformed as error:
            problems = str(error).split("\n")
            if sound := [one for one in checkable(error.sound) if one in which]:
                check(error.sound, sound)
    except ConfigError as error:
        problems += str(error).split("\n")
    return list(dict.fromkeys(problems))


def _silence(path: Path) -> list[str]:
    """That the broker does not answer, which is none of the config's problems: it may be one of elsewhere."""
    import anyio

    from mentor_stream import broker
    from mentor_stream.component import load_config

    with _heard():  # what connecting says in between is said again at its end
        try:
            anyio.run(broker.reach, load_config(path).run.broker, ANSWER_SECONDS, backend="trio")
        except broker.BrokerError as error:
            return [f"{error} No component can start from here before it answers."]
    return []


@contextmanager
def _heard() -> Generator[list[str]]:
    """What is logged as a warning meanwhile, each once."""
    said: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage() not in said:
                said.append(record.getMessage())

    ear = Ear(logging.WARNING)
    logging.getLogger().addHandler(ear)
    try:
        yield said
    finally:
        logging.getLogger().removeHandler(ear)

"""`mentor-stream check`: what is wrong with a config, before anything is started."""

import sys
from typing import Annotated

import typer

from mentor_stream.commands.arguments import ConfigFile

app = typer.Typer()


@app.command(epilog="Example: mentor-stream check examples/chain/demo.toml")
def check(
    config: ConfigFile,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as one JSON object.")] = False,
) -> None:
    """Validate CONFIG and what it points to; start nothing."""
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

"""`mentor-stream up`: every component of a run."""

import sys

import typer

from mentor_stream.commands.arguments import ConfigFile

app = typer.Typer()


@app.command(epilog="Example: mentor-stream up examples/chain/demo.toml")
def up(config: ConfigFile) -> None:
    """Run all of CONFIG on this machine and watch over it.

    It shows how training goes. The same command resumes an interrupted run.
    """
    from mentor_stream.component import check, load_config
    from mentor_stream.supervisor import up as supervise

    loaded = load_config(config)
    check(loaded)
    sys.exit(supervise(loaded))

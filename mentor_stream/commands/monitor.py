"""`mentor-stream monitor`: a run in the browser."""

from typing import Annotated

import typer

from mentor_stream.commands.arguments import AnyRun, AsJson

app = typer.Typer()

HOST, PORT = "127.0.0.1", 8765


@app.command(
    short_help="Serve the run as a page: curves, hints, components.",
    epilog="Example: mentor-stream monitor examples/chain/demo.toml",
)
def monitor(
    run: AnyRun,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Others than loopback are open to all.")
    ] = HOST,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = PORT,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A name by which browsers reach it; addresses need none.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Serve a page that shows the run: curves, hints, each question's history, components.

    It only reads, and waits for a run that has not begun and for a broker that is away.
    MENTOR_STREAM_MONITOR_TOKEN in the environment is a token that everybody has to show.
    """
    from mentor_stream import broker, tools
    from mentor_stream.commands.output import print_json
    from mentor_stream.commands.run import named
    from mentor_stream.component import load_config

    config, name = named(run, load_config)
    broker.check(config.run.broker)
    shown = config.run.model_copy(update={"name": name})
    tool = tools.load("monitor")
    if json:
        print_json(tool.figures(shown))
    else:
        _warn(host, tool.TOKEN)
        tool.serve(shown, host, port, allow_host or [], _say)


def _say(address: str) -> None:
    typer.echo(f"The monitor is at {address} (Ctrl-C ends it)")


def _warn(host: str, token: str) -> None:
    """Say what it means to listen where others are."""
    import os
    from ipaddress import ip_address

    try:
        loopback = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback and not os.environ.get(token):
        typer.echo(
            f"mentor-stream: --host {host}: whoever gets here sees every question, hint and answer "
            f"of the run; set {token} to ask for a token.",
            err=True,
        )

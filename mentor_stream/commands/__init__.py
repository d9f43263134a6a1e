"""Groups of commands, one module each. All are loaded for any command: they import typer and nothing slow."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from mentor_stream.broker import Broker
    from mentor_stream.config import Config

T = TypeVar("T")

ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="The run's TOML file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]


def load(path: Path) -> "Config":
    """The config, its [run] checked: these commands need no component. Raises ConfigError."""
    from mentor_stream.component import check, load_config

    config = load_config(path)
    check(config, which=())
    return config


def on_broker(config: "Config", work: "Callable[[Broker], Awaitable[T]]", *, create: bool = False) -> T:
    """What `work` returns of the run's broker. No topic is created or waited for. Raises BrokerError.

    Without `create` a broker that is a file must exist already.
    """
    import anyio

    from mentor_stream import broker

    async def main() -> T:
        async with broker.connect(config.run.broker, create=create) as connected:
            return await work(connected)

    return anyio.run(main, backend="trio")


def print_json(document: dict[str, Any]) -> None:
    """Print one document."""
    import json

    typer.echo(json.dumps(document, indent=2, allow_nan=False))

"""The run that a command is about: its config, and its broker."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from mentor_stream.broker import Broker
    from mentor_stream.config import Config

T = TypeVar("T")


def load(path: Path) -> "Config":
    """The config, its [run] checked: these commands need no component. Raises ConfigError."""
    from mentor_stream.component import check, load_config

    config = load_config(path)
    check(config, which=())
    return config


def named(text: str, read: "Callable[[Path], Config]" = load) -> "tuple[Config, str]":
    """What `CONFIG[:RUN]` means: the config, and a run's name, by default its own. Raises ConfigError."""
    from mentor_stream.config import check_run_name

    path, name = parted(text)
    if name is not None:
        check_run_name(f"the run in {text!r}", name)
    config = read(path)
    return config, config.run.name if name is None else name


def parted(text: str) -> tuple[Path, str | None]:
    """The config's path in `CONFIG[:RUN]` and the run, None where none is named. A path may hold colons."""
    isfile = os.path.isfile  # a name that is too long is none
    path, _, name = text.rpartition(":")
    if not isfile(path):
        path, _, name = text.partition(":")
    return (Path(text), None) if isfile(text) or ":" not in text else (Path(path), name)


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

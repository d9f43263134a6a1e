"""`mentor-stream topics`: create the topics of a run, change them, look at them."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from mentor_stream.commands.arguments import AsJson, ConfigFile
from mentor_stream.commands.output import print_json
from mentor_stream.commands.run import load, on_broker

if TYPE_CHECKING:
    from mentor_stream.broker import Broker
    from mentor_stream.commands.topics.inventory import Holding
    from mentor_stream.commands.topics.plan import Change
    from mentor_stream.config import Config

app = typer.Typer(
    name="topics", help="Create the topics of a run, change them, look at them.", no_args_is_help=True
)


@app.command(
    short_help="Create what is missing; tell, or change, what differs.",
    epilog="Example: mentor-stream topics create examples/chain/demo.toml --apply",
)
def create(
    config: ConfigFile,
    apply: Annotated[bool, typer.Option("--apply", help="Change what differs, where that can be.")] = False,
    json: AsJson = False,
) -> None:
    """Create the topics that are missing, and tell where existing ones differ from CONFIG.

    Exit code 0: all are as configured now. 1: some differ still. 2: some have more partitions than
    configured, which cannot be taken away; then nothing is created or changed.
    """
    from mentor_stream import legible
    from mentor_stream.commands.topics import views

    loaded = load(config)
    changes = on_broker(loaded, lambda broker: _create(broker, loaded, apply), create=True)
    refusals = [change.refusal for change in changes if change.refusal]
    refused, applied = bool(refusals), apply and not refusals
    if json:
        told = views.changes_json(changes, applied=applied, refused=refused)
        print_json({"run": loaded.run.name, "topics": told})
    else:
        views.show_changes(changes, applied=applied, refused=refused)
    for refusal in refusals:
        typer.echo(f"mentor-stream: {legible.line(refusal)}", err=True)
    differs = any(change.left(applied=applied) for change in changes)
    sys.exit(2 if refused else 1 if differs else 0)


@app.command(
    "list",
    short_help="Show the topics: partitions, records, size, retention.",
    epilog="Example: mentor-stream topics list examples/chain/demo.toml --all",
)
def list_(
    config: ConfigFile,
    every: Annotated[bool, typer.Option("--all", help="Those of every run on the broker.")] = False,
    json: AsJson = False,
) -> None:
    """Show the topics of the run: partitions, records, size on disk, how long they are kept."""
    from mentor_stream.commands.topics import inventory, views

    loaded = load(config)
    run = None if every else loaded.run.name
    found = on_broker(loaded, lambda broker: inventory.holdings(broker, run))
    if json:
        print_json({"topics": [views.holding_json(holding) for holding in found]})
        return
    views.show_holdings(found)
    names = {holding.name for holding in found}
    _tell_missing([name for name in _names(loaded) if name not in names], loaded)


@app.command(
    short_help="Show all about the topics: settings, offsets, lag.",
    epilog="Example: mentor-stream topics describe examples/chain/demo.toml groups",
)
def describe(
    config: ConfigFile,
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="One of them, such as groups.", show_default=False)
    ] = None,
    json: AsJson = False,
) -> None:
    """Show all about the topics of the run: settings, offsets, lag, what differs from CONFIG."""
    from mentor_stream import topics
    from mentor_stream.broker import UnknownTopic
    from mentor_stream.commands.topics import views

    loaded = load(config)
    names = [topics.find(topic, loaded.run.name).of(loaded.run.name)] if topic else _names(loaded)
    found = on_broker(loaded, lambda broker: _described(broker, loaded, names))
    missing = [name for name in names if name not in found]
    if topic and missing:
        raise UnknownTopic(f"{missing[0]} does not exist: `mentor-stream topics create {config}` makes it")
    if json:
        described = [views.holding_json(one) | views.differences_json(c) for one, c in found.values()]
        print_json({"topics": described})
        return
    for holding, change in found.values():
        views.show_holding(holding, change)
    _tell_missing(missing, loaded)


async def _create(broker: "Broker", config: "Config", apply: bool) -> "Sequence[Change]":
    """All topics as they were before; where one is refused nothing is done."""
    from mentor_stream.commands.topics import inventory

    changes = await inventory.compare(broker, config)
    if any(change.refusal for change in changes):
        return changes
    await inventory.create(broker, changes)
    if apply:
        await inventory.alter(broker, changes)
    return changes


async def _described(
    broker: "Broker", config: "Config", names: Sequence[str]
) -> "dict[str, tuple[Holding, Change]]":
    """Those of the names that exist."""
    from mentor_stream.commands.topics import inventory

    found: dict[str, tuple[Holding, Change]] = {}
    for change in await inventory.compare(broker, config):
        if change.name in names and change.actual is not None:
            found[change.name] = await inventory.holding(broker, change.name), change
    return found


def _names(config: "Config") -> list[str]:
    from mentor_stream import topics

    return [topic.of(config.run.name) for topic in topics.ALL]


def _tell_missing(names: Sequence[str], config: "Config") -> None:
    from mentor_stream import legible

    if names:
        said = f"Not there: {', '.join(names)}. `mentor-stream topics create {config.path}` makes them."
        typer.echo(legible.line(said), err=True)

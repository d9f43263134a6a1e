"""`mentor-stream dead-letters`: look at the records that nobody could read, put them back or aside."""

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from mentor_stream.commands.arguments import AsJson, ConfigFile
from mentor_stream.commands.moment import moment
from mentor_stream.commands.output import print_json
from mentor_stream.commands.run import load, on_broker

if TYPE_CHECKING:
    from mentor_stream.broker import Broker
    from mentor_stream.commands.dead_letters.dismiss import Dismissal
    from mentor_stream.commands.dead_letters.requeue import Outcome

app = typer.Typer(
    name="dead-letters",
    help="Look at records that nobody could read, and put them back or aside.",
    short_help="Records that nobody could read: look, put back or aside.",
    no_args_is_help=True,
)

Places = Annotated[list[int] | None, typer.Argument(metavar="[PLACE]...", help="Offsets, as listed.", min=0)]
Topic = Annotated[str | None, typer.Option(help="Only those of this topic, such as queries.")]


@app.command(
    "list",
    short_help="List dead letters, the newest last.",
    epilog="Example: mentor-stream dead-letters list examples/chain/demo.toml --since 2h",
)
def list_(
    config: ConfigFile,
    since: Annotated[
        str | None, typer.Option(help="Only newer ones: 90s, 30m, 2h, 7d ago, or 2026-11-30T12:00.")
    ] = None,
    topic: Topic = None,
    source: Annotated[str | None, typer.Option(help="Only those that this component refused.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line instead.")] = False,
) -> None:
    """List dead letters, the newest last: when, where the record stood, who refused it, why."""
    from mentor_stream import topics
    from mentor_stream.commands.dead_letters import letters, views

    loaded = load(config)
    run = loaded.run.name
    start = None if since is None else moment("--since", since, time.time())
    wanted = topics.find(topic, run).of(run) if topic else None
    found = on_broker(loaded, lambda broker: letters.find(broker, run, since=start))
    chosen = [one for one in found if one.is_of(wanted, source)]
    if json:
        views.print_lines(chosen)
    else:
        views.show_letters(chosen)


@app.command(
    short_help="Show one dead letter and the record it holds.",
    epilog="Example: mentor-stream dead-letters show examples/chain/demo.toml 17",
)
def show(
    config: ConfigFile,
    place: Annotated[int, typer.Argument(metavar="PLACE", help="The letter's offset, as listed.", min=0)],
    json: AsJson = False,
) -> None:
    """Show one dead letter and the record it holds, as far as that can be read."""
    from mentor_stream.commands.dead_letters import letters, views

    loaded = load(config)
    letter = on_broker(loaded, lambda broker: letters.get(broker, loaded.run.name, place))
    if json:
        print_json(views.letter_json(letter))
    else:
        views.show_letter(letter)


@app.command(
    short_help="Put records back on the topics they came from.",
    epilog="Example: mentor-stream dead-letters requeue examples/chain/demo.toml 17 18",
)
def requeue(
    config: ConfigFile,
    places: Places = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every letter that was neither requeued nor dismissed.")
    ] = False,
    topic: Topic = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Also what would come straight back, and what was requeued or dismissed."
        ),
    ] = False,
    json: AsJson = False,
) -> None:
    """Put the records of dead letters back on the topics they came from, with the same key and bytes.

    Exit code 0: all were requeued. 1: some were refused, each with a reason. Ids make repeats harmless.
    """
    from mentor_stream import topics
    from mentor_stream.commands.dead_letters import views

    if every == bool(places) or (topic and not every):
        raise typer.BadParameter("name letters, or --all and perhaps a --topic of theirs")
    loaded = load(config)
    run = loaded.run.name
    wanted = topics.find(topic, run).of(run) if topic else None
    outcomes = on_broker(loaded, lambda broker: _requeue(broker, run, places, wanted, force))
    if json:
        print_json({"letters": [views.outcome_json(outcome) for outcome in outcomes]})
    else:
        views.show_outcomes(outcomes)
    sys.exit(1 if any(outcome.to is None for outcome in outcomes) else 0)


async def _requeue(
    broker: "Broker", run: str, places: Sequence[int] | None, topic: str | None, force: bool
) -> "list[Outcome]":
    """The letters at `places`, or all that were not requeued yet, perhaps of one topic."""
    from mentor_stream.commands.dead_letters import letters
    from mentor_stream.commands.dead_letters.requeue import Outcome, requeue

    known = {letter.place: letter for letter in await letters.find(broker, run)}
    if places is None:
        places = [p for p, letter in known.items() if not letter.settled and letter.is_of(topic)]
    chosen = [known[place] for place in places if place in known]
    absent = [Outcome(place, refusal=letters.ABSENT) for place in places if place not in known]
    return absent + await requeue(broker, run, chosen, force=force)


@app.command(
    short_help="Put dead letters aside, so that they are not requeued.",
    epilog="Example: mentor-stream dead-letters dismiss examples/chain/demo.toml 17 18",
)
def dismiss(
    config: ConfigFile,
    places: Places = None,
    unrequeueable: Annotated[
        bool, typer.Option("--unrequeueable", help="Every letter that requeue refuses: named, unless --yes.")
    ] = False,
    topic: Topic = None,
    yes: Annotated[bool, typer.Option("--yes", help="Dismiss what --unrequeueable names.")] = False,
    json: AsJson = False,
) -> None:
    """Put dead letters aside: `requeue --all` leaves them out from then on. They stay where they are.

    Exit code 0: all were dismissed. 1: some were not, each with a reason. `requeue --force` takes it back.
    """
    from mentor_stream import topics
    from mentor_stream.commands.dead_letters import views

    if unrequeueable == bool(places) or ((topic or yes) and not unrequeueable):
        raise typer.BadParameter("name letters, or --unrequeueable and perhaps a --topic of theirs and --yes")
    loaded = load(config)
    run = loaded.run.name
    wanted = topics.find(topic, run).of(run) if topic else None
    outcomes = on_broker(loaded, lambda broker: _dismiss(broker, run, places or None, wanted, yes))
    if json:
        print_json({"letters": [views.dismissal_json(outcome) for outcome in outcomes]})
    else:
        views.show_dismissals(outcomes)
    sys.exit(0 if all(outcome.done for outcome in outcomes) else 1)


async def _dismiss(
    broker: "Broker", run: str, places: Sequence[int] | None, topic: str | None, sure: bool
) -> "list[Dismissal]":
    """The letters at `places`, or when `sure` all that requeue refuses, perhaps of one topic."""
    from mentor_stream.commands.dead_letters import letters
    from mentor_stream.commands.dead_letters.dismiss import Dismissal, dismiss, dismiss_unrequeueable

    known = {letter.place: letter for letter in await letters.find(broker, run)}
    if places is None:
        chosen = [letter for letter in known.values() if letter.is_of(topic)]
        return await dismiss_unrequeueable(broker, run, chosen, sure=sure)
    absent = [Dismissal(place, False, letters.ABSENT) for place in places if place not in known]
    return absent + await dismiss(broker, run, [known[place] for place in places if place in known])

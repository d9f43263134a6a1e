"""Topics in words, rows and JSON, for `mentor-stream topics`."""

from collections.abc import Sequence
from typing import Any

import typer

from mentor_stream import legible
from mentor_stream.commands import output
from mentor_stream.commands.topics import plan
from mentor_stream.commands.topics.inventory import Holding
from mentor_stream.commands.topics.plan import Change, Difference


def outcome(change: Change, *, applied: bool, refused: bool) -> str:
    """What became of a topic. `refused`: one of the run's was, so that none was changed."""
    if change.action == "create":
        return "missing" if refused else "created"
    if change.action == "refuse":
        return "refused"
    if change.action == "alter" and applied:
        return "altered"
    return "differs" if change.differences else "as configured"


def show_changes(changes: Sequence[Change], *, applied: bool, refused: bool) -> None:
    """Print what was done and what differs."""
    rows = [
        (c.name, outcome(c, applied=applied, refused=refused), _differences(c, applied=applied))
        for c in changes
    ]
    output.table(["topic", "outcome", "what differs"], rows)
    for warning in dict.fromkeys(warning for change in changes for warning in change.warnings):
        about = ", ".join(change.name for change in changes if warning in change.warnings)
        typer.echo(f"{about}: {warning}.")
    alterable = any(d.alterable for change in changes for d in change.left(applied=applied))
    if alterable and not refused:
        typer.echo("Nothing that exists was changed: --apply does that.")


def changes_json(changes: Sequence[Change], *, applied: bool, refused: bool) -> list[dict[str, Any]]:
    """The same for programs."""
    return [
        {
            "topic": change.name,
            "outcome": outcome(change, applied=applied, refused=refused),
            "altered": [_difference_json(d) for d in change.altered(applied=applied)],
            "differences": [_difference_json(d) for d in change.left(applied=applied)],
            "warnings": change.warnings,
            "refusal": change.refusal,
        }
        for change in changes
    ]


def show_holdings(holdings: Sequence[Holding]) -> None:
    """Print a table of topics for each run."""
    for run in dict.fromkeys(holding.run for holding in holdings):
        rows = [
            (
                legible.line(holding.name),
                f"{len(holding.bounds):,}",
                f"{holding.records:,}",
                size(holding.state.size_bytes),
                kept(holding),
            )
            for holding in holdings
            if holding.run == run
        ]
        output.table(
            ["topic", ">partitions", ">records", ">on disk", "kept"], rows, title=f"run {legible.line(run)}"
        )


def show_holding(holding: Holding, change: Change) -> None:
    """Print all about one topic."""
    spec, behind = holding.state.spec, holding.state.under_replicated
    facts = [
        ("records", f"{holding.records:,}, {size(holding.state.size_bytes)} on disk"),
        ("kept", kept(holding)),
        ("largest record", size(spec.max_message_bytes)),
        ("copies", f"{spec.replication}" + (f", behind in {behind} partitions" if behind else "")),
        *((f"lag of {group}", f"{count:,} records") for group, count in holding.lag.items()),
        ("config", _differences(change, applied=False) or "no difference"),
    ]
    output.table(["", ""], facts, title=holding.name)
    rows = [
        (f"{number}", f"{b.first:,}", f"{b.next:,}", f"{b.next - b.first:,}")
        for number, b in sorted(holding.bounds.items())
    ]
    output.table([">partition", ">first", ">next", ">records"], rows)
    typer.echo()


def holding_json(holding: Holding) -> dict[str, Any]:
    """A topic for programs."""
    return {
        "topic": holding.name,
        "run": holding.run,
        **plan.terms(holding.state.spec),
        "records": holding.records,
        "size_bytes": holding.state.size_bytes,
        "under_replicated": holding.state.under_replicated,
        "offsets": {f"{n}": {"first": b.first, "next": b.next} for n, b in sorted(holding.bounds.items())},
        "lag": dict(holding.lag),
    }


def differences_json(change: Change) -> dict[str, Any]:
    """Where a topic is not as configured, for programs."""
    return {"differences": [_difference_json(difference) for difference in change.differences]}


def kept(holding: Holding) -> str:
    """How long and how much, in words."""
    seconds, most = holding.state.spec.retention_seconds, holding.state.spec.retention_bytes
    limits = [f"{seconds / 3600:g} h"] if seconds is not None else []
    limits += [f"{size(most)} a partition"] if most is not None else []
    return ", ".join(limits) or "forever"


def size(count: float) -> str:
    """Bytes in words."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:,.{0 if unit == 'B' else 1}f} {unit}".replace(".0 ", " ")
        count /= 1024
    return f"{count:,.1f} TiB".replace(".0 ", " ")


def _differences(change: Change, *, applied: bool) -> str:
    done = [f"{d.setting} {_value(d.actual)} -> {_value(d.wanted)}" for d in change.altered(applied=applied)]
    left = [
        f"{d.setting} is {_value(d.actual)}, configured {_value(d.wanted)}"
        for d in change.left(applied=applied)
    ]
    return "; ".join(done + left)


def _value(value: plan.Value) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def _difference_json(difference: Difference) -> dict[str, Any]:
    return {"setting": difference.setting, "actual": difference.actual, "configured": difference.wanted}

"""What `mentor-stream up` says at the end."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mentor_stream.config import Config
from mentor_stream.supervisor import results
from mentor_stream.supervisor.results import Summary


def finished(summary: Summary, config: Config) -> RenderableType:
    """Before and after, and where everything is."""
    directory = config.run.directory
    files = Table.grid(padding=(0, 2))
    for name, what in (
        (results.MODEL, "the trained model, for transformers"),
        (results.CURVES, "the curves"),
        (results.METRICS, "every metric"),
        (results.SUMMARY, "these numbers"),
    ):
        files.add_row(Text(f"{directory / name}", style="cyan"), Text(what, style="dim"))
    return Group(Text(), _before_and_after(summary), Text(), files)


def finished_before(summary: Summary, config: Config) -> RenderableType:
    """The same for a run that was over already, and how to start another."""
    again = (
        f"Run {summary.run} is finished; nothing was started. "
        "To go on, set run.max_versions or run.max_tokens to more. "
        "To train again, set run.name and run.directory to others, "
        "and run.policy to its model to go on from there."
    )
    return Group(Text(again), finished(summary, config))


def stopped(config: Config) -> Text:
    """How to go on."""
    return Text(f"Stopped. Nothing is lost: `mentor-stream up {config.path}` goes on from here.")


def error(text: str) -> Text:
    """What went wrong."""
    return Text(f"mentor-stream: {text}", style="red")


def _before_and_after(summary: Summary) -> Table:
    table = Table.grid(padding=(0, 3))
    accuracy = Text.assemble(
        (_accuracy(summary.accuracy_before), "bold"),
        "  →  ",
        (_accuracy(summary.accuracy_after), "bold green"),
    )
    if summary.evaluated_version is not None:
        accuracy.append(f"   version 0 and {summary.evaluated_version}", style="dim")
    if summary.heldout_questions:
        accuracy.append(f", {summary.heldout_questions} questions, no hints", style="dim")
    table.add_row(Text("held-out accuracy", style="dim"), accuracy)
    for label, value in (
        ("policy version", f"{summary.policy_version:,}"),
        ("generated tokens", f"{summary.tokens:,}"),
        ("groups", _groups(summary)),
        ("lessons tried", _lessons(summary)),
        ("time at work", f"{summary.minutes:.1f} minutes"),
    ):
        table.add_row(Text(label, style="dim"), Text(value))
    return table


def _groups(summary: Summary) -> str:
    """Fewer than the picture's, which counts all that were sampled."""
    return (
        f"{summary.groups:,} reached the trainer, {summary.collapsed:,} plain ones collapsed, "
        f"{summary.stale:,} were too stale"
    )


def _lessons(summary: Summary) -> str:
    if summary.rescue_rate is None:
        return "none"
    failed = summary.guided - summary.rescued
    return (
        f"{summary.guided:,}, {summary.rescue_rate:.0%} rescued the question; {failed:,} collapsed, "
        "beside the plain ones"
    )


def _accuracy(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"

"""What board and components look like: a picture for terminals and a line for logs."""

import time
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from mentor_stream.supervisor.board import Board, Note
from mentor_stream.supervisor.child import Child, State
from mentor_stream.supervisor.drain import Queues
from mentor_stream.supervisor.figures import Figures
from mentor_stream.supervisor.view.rows import (
    MISSING,
    Row,
    duration,
    outcome_rows,
    queue_rows,
    sampling_rows,
    stream_rows,
    token_rows,
    training_rows,
    waiting_rows,
)

SHOWN_NOTES = 4
WIDE = 120

COLOURS = {
    State.WAITING: "dim",
    State.RUNNING: "green",
    State.BACKING_OFF: "yellow",
    State.STOPPING: "yellow",
    State.STOPPED: "dim",
    State.FINISHED: "cyan",
    State.FAILED: "bold red",
}


def line(state: Figures, queues: Queues | None, now: float, *, mentored: bool = True) -> Text:
    """The state in one line, for logs and pipes."""
    rows = [Row("version", f"{state.version:,}"), *outcome_rows(state, arrow="->")]
    rows += [*queue_rows(state, queues, mentored), *sampling_rows(state, now), *token_rows(state)]
    rows += waiting_rows(state, now)
    known = (f"{row.label} {row.value}" for row in rows if row.value != MISSING)
    return Text(f"{_clock(now)} " + "  ".join(known))


def picture(board: Board, children: Sequence[Child], now: float, width: int) -> RenderableType:
    """The whole dashboard: 24 rows on a terminal at least `WIDE` columns wide, more on a narrow one."""
    state = board.figures
    parts: list[RenderableType] = [
        _progress(state, now),
        Text(),
        _table("learning", outcome_rows(state)),
        Text(),
        _details(board, children, now, width),
    ]
    if board.notes:
        parts += [Text(), *map(note_line, list(board.notes)[-SHOWN_NOTES:])]
    title = Text.assemble((" Mentor Stream ", "bold cyan"), ("· ", "dim"), (f"{state.run} ", "bold"))
    return Panel(
        Group(*parts),
        title=title,
        title_align="left",
        subtitle=Text(f" {duration(now - board.started)} · Ctrl-C stops, nothing is lost ", style="dim"),
        subtitle_align="right",
        border_style="cyan",
        padding=(0, 2),
    )


def _details(board: Board, children: Sequence[Child], now: float, width: int) -> RenderableType:
    training = _table("training", training_rows(board.figures))
    stream = _table("stream", stream_rows(board, now, has_guide(children)))
    components = _components(children)
    grid = Table.grid(padding=(0, 4))
    if width >= WIDE:
        grid.add_row(training, stream, components)
    else:
        grid.add_row(training, Group(stream, Text(), components))
    return grid


def has_guide(children: Sequence[Child]) -> bool:
    """Whether anybody may teach: mentors that ended by themselves have a guide that teaches nothing."""
    mentors = [child for child in children if child.name.startswith("mentor")]
    return not mentors or any(mentor.state is not State.FINISHED for mentor in mentors)


def _progress(state: Figures, now: float) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 2))
    share, left = state.progress(), state.seconds_left(now)
    grid.add_column(ratio=1)
    grid.add_column(no_wrap=True)
    bar = ProgressBar(total=1.0, completed=share or 0.0, complete_style="cyan", finished_style="green")
    ending = "until its questions are over" if share is None else f"{share:.0%}"
    if share is not None and left is not None and share < 1:
        ending += f", about {duration(left)} to go"
    amount = ", ".join(f"{row.value} {row.label}" for row in token_rows(state))
    grid.add_row(bar, Text.assemble((amount, "bold"), (f"  {ending}", "dim")))
    return grid


def _components(children: Sequence[Child]) -> Table:
    table = _grid("components", 4)
    for child in children:
        process = f"{child.process.pid}" if child.process else ""
        state = Text(f"● {child.state.value}", style=COLOURS[child.state])
        died = Text(f"died {len(child.deaths)}x" if child.deaths else "", style="yellow")
        table.add_row(child.name, state, Text(process, style="dim"), died)
    return table


def _table(title: str, rows: Sequence[Row]) -> Table:
    curved = any(row.curve for row in rows)
    table = _grid(title, 3 if curved else 2)
    for row in rows:
        cells = [Text(row.label, style="dim"), Text(row.value, style="bold"), Text(row.curve, style="cyan")]
        table.add_row(*cells[: 3 if curved else 2])
    return table


def _grid(title: str, columns: int) -> Table:
    table = Table.grid(padding=(0, 2))
    table.title, table.title_style, table.title_justify = title, "bold cyan", "left"
    for _ in range(columns):
        table.add_column(no_wrap=True)
    return table


def note_line(note: Note) -> Text:
    """A note with its time."""
    return Text.assemble((f"{_clock(note.time)} ", "dim"), (note.text, "yellow"))


def _clock(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(moment))

"""What board and components look like: a picture for terminals and a line for logs."""

import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from mentor_stream.supervisor.board import Board, Note
from mentor_stream.supervisor.child import Child, State
from mentor_stream.supervisor.drain import Queues
from mentor_stream.supervisor.figures import Figures

BARS = "▁▂▃▄▅▆▇█"
SHOWN_NOTES = 4
LONG_SECONDS = 30.0
"""For which a trainer may wait without a word: its log says for what from then on."""
SPARK_WIDTH = 30
WIDE = 120
MISSING = "–"  # noqa: RUF001

COLOURS = {
    State.WAITING: "dim",
    State.RUNNING: "green",
    State.BACKING_OFF: "yellow",
    State.STOPPING: "yellow",
    State.STOPPED: "dim",
    State.FINISHED: "cyan",
    State.FAILED: "bold red",
}


class Row(NamedTuple):
    """One line of a table: what, its present value, and how it went."""

    label: str
    value: str
    curve: str = ""


def line(state: Figures, queues: Queues | None, now: float, *, mentored: bool = True) -> Text:
    """The state in one line, for logs and pipes."""
    rows = [Row("version", f"{state.version:,}"), *_outcome_rows(state, arrow="->")]
    rows += [*_queue_rows(state, queues, mentored), *_sampling_rows(state, now), *_token_rows(state)]
    rows += _waiting_rows(state, now)
    known = (f"{row.label} {row.value}" for row in rows if row.value != MISSING)
    return Text(f"{_clock(now)} " + "  ".join(known))


def picture(board: Board, children: Sequence[Child], now: float, width: int) -> RenderableType:
    """The whole dashboard: 24 rows on a terminal at least `WIDE` columns wide, more on a narrow one."""
    state = board.figures
    parts: list[RenderableType] = [
        _progress(state, now),
        Text(),
        _table("learning", _outcome_rows(state)),
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
        subtitle=Text(f" {_duration(now - board.started)} · Ctrl-C stops, nothing is lost ", style="dim"),
        subtitle_align="right",
        border_style="cyan",
        padding=(0, 2),
    )


def _details(board: Board, children: Sequence[Child], now: float, width: int) -> RenderableType:
    training = _table("training", _training_rows(board.figures))
    stream = _table("stream", _stream_rows(board, now, has_guide(children)))
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
        ending += f", about {_duration(left)} to go"
    amount = ", ".join(f"{row.value} {row.label}" for row in _token_rows(state))
    grid.add_row(bar, Text.assemble((amount, "bold"), (f"  {ending}", "dim")))
    return grid


def _token_rows(state: Figures) -> list[Row]:
    tokens = state.latest.get("generated_tokens", 0.0)
    rows = [Row("tokens", f"{tokens:,.0f}" + (f" of {state.max_tokens:,}" if state.max_tokens else ""))]
    if state.max_versions:
        rows.append(Row("versions", f"{state.version:,} of {state.max_versions:,}"))
    return rows


def _outcome_rows(state: Figures, arrow: str = "→") -> list[Row]:
    fractions = [
        Row(label, MISSING if value is None else f"{value:.2f}", sparkline(state.curve(name)))
        for label, name, value in (
            ("reward", "reward", state.latest.get("reward")),
            ("zero-reward groups", "zero_reward_fraction", state.collapse_rate),
            ("rescue rate", "rescue_rate", state.rescue_rate),
        )
    ]
    return [_accuracy_row(state, arrow), *fractions]


def _accuracy_row(state: Figures, arrow: str) -> Row:
    known = state.accuracies
    if not known:
        return Row("held-out accuracy", MISSING)
    first, last = known[0], known[-1]
    value = f"{first.accuracy:.3f}"
    if last != first:
        value += f" {arrow} {last.accuracy:.3f} (v{last.policy_version})"
    return Row("held-out accuracy", value, sparkline([a.accuracy for a in known]))


def _training_rows(state: Figures) -> list[Row]:
    value = state.latest
    bad, alarm = sum(state.curve("bad_steps")), value.get("logprob_gap_alarm")
    return [
        Row("version", f"{state.version:,}, step {_numbers(value, '{step:,.0f}')}"),
        Row("loss", _numbers(value, "{loss:+.4f}")),
        Row("grad norm", _known(value, "{grad_norm:.3f}", f"{bad:,.0f} not taken" if bad else "")),
        Row("ratio", _known(value, "{ratio_mean:.4f}", "{clip_fraction:.1%} clipped")),
        Row("sampler gap", _known(value, "{logprob_gap_mean:.3f}", "too wide" if alarm else "")),
        Row("entropy", _known(value, "{entropy:.3f}", "{kl:.4f} KL")),
        Row("staleness", _numbers(value, "{staleness_mean:.1f} mean, {staleness_max:.0f} max")),
        Row("step time", _numbers(value, "{step_seconds:.2f} s + {wait_seconds:.2f} s wait")),
        Row("too stale", _numbers(value, "{stale_groups:,.0f} groups")),
    ]


def _stream_rows(board: Board, now: float, mentored: bool) -> list[Row]:
    state = board.figures
    lessons = (
        f"{state.total('mentor', 'hints'):,.0f} hints, {state.total('mentor', 'fallbacks'):,.0f} fallbacks"
    )
    return [
        *_queue_rows(state, board.queues, mentored),
        *_sampling_rows(state, now),
        Row("lessons", lessons),
        *_waiting_rows(state, now),
    ]


def _waiting_rows(state: Figures, now: float) -> list[Row]:
    """What is worth a look only while it lasts."""
    rows: list[Row] = []
    if (waited := state.waiting(now)) and waited >= LONG_SECONDS:
        rows.append(Row("no batch", f"{_duration(waited)}: trainer.log"))
    if (unanswered := state.unanswered(now)) is not None:
        rows.append(Row("endpoint", f"down {_duration(unanswered)}: mentor.log"))
    return rows


def _queue_rows(state: Figures, queues: Queues | None, mentored: bool) -> list[Row]:
    pending = _numbers(state.latest, f"{{pending_groups:,.0f}} of {state.batch_groups}")
    rollout = f"{queues.queries + queues.guided} ({queues.guided} guided)" if queues else MISSING
    cases = [Row("for mentor", f"{queues.collapsed}" if queues else MISSING)] if mentored else []
    return [Row("for rollout", rollout), *cases, Row("for trainer", pending)]


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


def sparkline(values: Sequence[float], width: int = SPARK_WIDTH) -> str:
    """Fractions in [0, 1] as bars, the mean of each stretch when there are more than `width`."""
    if len(values) > width:
        cuts = [len(values) * i // width for i in range(width + 1)]
        values = [sum(values[a:b]) / (b - a) for a, b in pairwise(cuts)]
    return "".join(BARS[round(min(1.0, max(0.0, value)) * (len(BARS) - 1))] for value in values)


def _sampling_rows(state: Figures, now: float) -> list[Row]:
    return [
        Row("sampled", f"{state.total('rollout', 'groups'):,.0f} groups"),
        Row("sampling", f"{state.rate('rollout', 'tokens_per_second', now):,.0f} tokens/s"),
    ]


def _numbers(values: Mapping[str, float], form: str) -> str:
    """The values in words, or a dash when one of them is not known."""
    try:
        return form.format_map(values)
    except KeyError:
        return MISSING


def _known(values: Mapping[str, float], *forms: str) -> str:
    """Those of the forms that there is something to say in, or a dash."""
    found = [_numbers(values, form) for form in forms if form]
    return ", ".join(words for words in found if words != MISSING) or MISSING


def _clock(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(moment))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

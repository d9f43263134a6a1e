"""What board and figures come to in rows: a name, a value, and how it went."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from mentor_stream.supervisor.board import Board
from mentor_stream.supervisor.drain import Queues
from mentor_stream.supervisor.figures import Figures

BARS = "▁▂▃▄▅▆▇█"
SPARK_WIDTH = 30
LONG_SECONDS = 30.0
"""For which a trainer may wait without a word: its log says for what from then on."""
MISSING = "–"  # noqa: RUF001


class Row(NamedTuple):
    """One line of a table: what, its present value, and how it went."""

    label: str
    value: str
    curve: str = ""


def token_rows(state: Figures) -> list[Row]:
    """How far it is to the end of the run, of each kind that it has."""
    tokens = state.latest.get("generated_tokens", 0.0)
    rows = [Row("tokens", f"{tokens:,.0f}" + (f" of {state.max_tokens:,}" if state.max_tokens else ""))]
    if state.max_versions:
        rows.append(Row("versions", f"{state.version:,} of {state.max_versions:,}"))
    return rows


def outcome_rows(state: Figures, arrow: str = "→") -> list[Row]:
    """What training is for: held-out accuracy, and how groups came out."""
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


def training_rows(state: Figures) -> list[Row]:
    """The trainer's newest step."""
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


def stream_rows(board: Board, now: float, mentored: bool) -> list[Row]:
    """What is under way between the components."""
    state = board.figures
    lessons = (
        f"{state.total('mentor', 'hints'):,.0f} hints, {state.total('mentor', 'fallbacks'):,.0f} fallbacks"
    )
    return [
        *queue_rows(state, board.queues, mentored),
        *sampling_rows(state, now),
        Row("lessons", lessons),
        *waiting_rows(state, now),
    ]


def waiting_rows(state: Figures, now: float) -> list[Row]:
    """What is worth a look only while it lasts."""
    rows: list[Row] = []
    if (waited := state.waiting(now)) and waited >= LONG_SECONDS:
        rows.append(Row("no batch", f"{duration(waited)}: trainer.log"))
    if (unanswered := state.unanswered(now)) is not None:
        rows.append(Row("endpoint", f"down {duration(unanswered)}: mentor.log"))
    return rows


def queue_rows(state: Figures, queues: Queues | None, mentored: bool) -> list[Row]:
    """What waits for whom; of cases nothing where nobody teaches."""
    pending = _numbers(state.latest, f"{{pending_groups:,.0f}} of {state.batch_groups}")
    rollout = f"{queues.queries + queues.guided} ({queues.guided} guided)" if queues else MISSING
    cases = [Row("for mentor", f"{queues.collapsed}" if queues else MISSING)] if mentored else []
    return [Row("for rollout", rollout), *cases, Row("for trainer", pending)]


def sampling_rows(state: Figures, now: float) -> list[Row]:
    """What all rollout workers have done, and how fast they are now."""
    return [
        Row("sampled", f"{state.total('rollout', 'groups'):,.0f} groups"),
        Row("sampling", f"{state.rate('rollout', 'tokens_per_second', now):,.0f} tokens/s"),
    ]


def sparkline(values: Sequence[float], width: int = SPARK_WIDTH) -> str:
    """Fractions in [0, 1] as bars, the mean of each stretch when there are more than `width`."""
    if len(values) > width:
        cuts = [len(values) * i // width for i in range(width + 1)]
        values = [sum(values[a:b]) / (b - a) for a, b in pairwise(cuts)]
    return "".join(BARS[round(min(1.0, max(0.0, value)) * (len(BARS) - 1))] for value in values)


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


def duration(seconds: float) -> str:
    """Minutes and seconds, with hours before them where there are any."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

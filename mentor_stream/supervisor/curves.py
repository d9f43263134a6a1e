"""The curves of a run as one picture: what was learned, against the tokens that it took."""

# matplotlib's types are partly unknown.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

from mentor_stream.supervisor.history import History

SMOOTHED_STEPS = 5
INK, FAINT = "#24303c", "#8a96a3"


class Curve(NamedTuple):
    """A measured value [n] over generated tokens [n]."""

    tokens: Sequence[float]
    values: Sequence[float]


class Panel(NamedTuple):
    """One of the four pictures."""

    title: str
    note: str
    colour: str
    data: Callable[[History], Curve]
    smooth: bool


def step_curve(name: str) -> Callable[[History], Curve]:
    """The curve of one trainer value."""

    def of(past: History) -> Curve:
        steps = [past.steps[step].values for step in sorted(past.steps)]
        points = [(v["generated_tokens"], v[name]) for v in steps if name in v and "generated_tokens" in v]
        return Curve([x for x, _ in points], [y for _, y in points])

    return of


def accuracy_curve(past: History) -> Curve:
    """Held-out accuracy by policy version."""
    measured = [past.evaluations[version].values for version in sorted(past.evaluations)]
    points = [
        (v.get("generated_tokens", 0.0), v["heldout_accuracy"]) for v in measured if "heldout_accuracy" in v
    ]
    return Curve([x for x, _ in points], [y for _, y in points])


PANELS = (
    Panel(
        "Held-out accuracy", "questions never trained on, no hints", "#0b7a75", accuracy_curve, smooth=False
    ),
    Panel("Reward", "mean over plain groups", "#3a5fcd", step_curve("reward"), smooth=True),
    Panel(
        "Zero-reward groups",
        "share of plain groups in which every sample failed",
        "#c0392b",
        step_curve("zero_reward_fraction"),
        smooth=True,
    ),
    Panel(
        "Rescue rate",
        "share of guided groups with a right sample",
        "#d98200",
        step_curve("rescue_rate"),
        smooth=True,
    ),
)


def running_mean(values: Sequence[float], width: int = SMOOTHED_STEPS) -> list[float]:
    """The mean of each value and its neighbours, `width` in all where there are as many [n]."""
    side = width // 2
    windows = (values[max(0, i - side) : i + side + 1] for i in range(len(values)))
    return [sum(window) / len(window) for window in windows]


def draw(past: History, title: str, path: Path) -> None:
    """Write the picture as a PNG of 1500 x 1050 pixels. Raises ImportError without matplotlib."""
    draft = path.with_name(f".{path.name}.draft")
    picture(past, title).savefig(draft, format="png")
    draft.replace(path)


def picture(past: History, title: str) -> "Figure":
    """All panels, over the same tokens."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    figure = Figure(figsize=(10, 7), dpi=150, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(w_pad=0.15, h_pad=0.12)  # type: ignore[union-attr]
    figure.suptitle(title, fontsize=14, fontweight="bold", color=INK)
    axes = figure.subplots(2, 2, sharex=True)
    curves = [panel.data(past) for panel in PANELS]
    for ax, panel, curve in zip(axes.flat, PANELS, curves, strict=True):
        _draw_panel(ax, panel, curve)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda tokens, _: _tokens(tokens)))
    for ax in axes[-1]:
        ax.set_xlabel("generated tokens", color=INK)
        if not any(count > 0 for curve in curves for count in curve.tokens):
            ax.set_xticks([0])  # and no parts of a token
    return figure


def _draw_panel(ax: "Axes", panel: Panel, curve: Curve) -> None:
    ax.set_title(panel.title, loc="left", fontsize=11, fontweight="bold", color=INK, pad=18)
    ax.text(0, 1.025, panel.note, transform=ax.transAxes, fontsize=8.5, color=FAINT)
    low, high = min([0.0, *curve.values]), max([1.0, *curve.values])
    ax.set_ylim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    ax.grid(axis="y", color="#e4e8ec", linewidth=0.8)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(colors=FAINT, length=0, labelsize=9)
    if not curve.values:
        ax.text(0.5, 0.5, "not measured", transform=ax.transAxes, ha="center", va="center", color=FAINT)
        return
    if panel.smooth:
        ax.plot(curve.tokens, curve.values, color=panel.colour, alpha=0.25, linewidth=1)
        shown = running_mean(curve.values)
    else:
        shown = curve.values
    marker = None if panel.smooth and len(shown) > 1 else "o"  # a line through one point is none
    ax.plot(curve.tokens, shown, color=panel.colour, linewidth=2, marker=marker, markersize=4)
    ax.annotate(
        f"{shown[-1]:.2f}",
        (curve.tokens[-1], shown[-1]),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        color=panel.colour,
        fontweight="bold",
        fontsize=9,
        annotation_clip=False,
    )


def _tokens(count: float) -> str:
    for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(count) >= unit:
            return f"{count / unit:g}{suffix}"
    return f"{count:g}"

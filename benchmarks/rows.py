"""What a benchmark says: a row for each thing measured, ours beside a bare baseline."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True)
class Row:
    """One comparison; value and baseline are in `unit`."""

    name: str
    value: float
    unit: str
    baseline: float
    ratio: float
    """Value to baseline."""


class Wanted(NamedTuple):
    """What was promised of a row."""

    what: Literal["ratio", "value"]
    bound: Literal["at least", "at most"]
    limit: float

    def kept(self, row: Row) -> bool:
        """Whether the row keeps the promise."""
        found: float = getattr(row, self.what)
        return found >= self.limit if self.bound == "at least" else found <= self.limit

    def of(self, row: Row) -> str:
        """The promise and whether the row keeps it, in words."""
        unit = "x" if self.what == "ratio" else f" {row.unit}"
        return f"wanted {self.bound} {self.limit:g}{unit}: {'kept' if self.kept(row) else 'NOT KEPT'}"


Finding = tuple[Row, Wanted | None]


def row(name: str, value: float, unit: str, baseline: float) -> Row:
    """The row, rounded to what a measurement is worth."""
    return Row(name, _rounded(value), unit, _rounded(baseline), round(value / baseline, 3))


def show(findings: Iterable[Finding], *, as_json: bool) -> None:
    """Print each as soon as it is there: one JSON object a line, or for people, with what was promised."""
    for found, wanted in findings:
        text = json.dumps(asdict(found)) if as_json else _in_words(found, wanted)
        print(text, flush=True)


def _in_words(found: Row, wanted: Wanted | None) -> str:
    numbers = f"{found.value:g} {found.unit}, baseline {found.baseline:g}, {found.ratio:g}x"
    return f"{found.name}: {numbers}" + (f" ({wanted.of(found)})" if wanted else "")


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")

"""One question of a comparison, with both hints beside each other."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

WAYS = ("first", "second")
LONG = 1200
"""Characters from which on a text may scroll, and so must be reached by keyboard."""


def article(number: int, one: Mapping[str, Any], names: Sequence[str]) -> str:
    """The question, what either guide said to it, and what came of that."""
    first, second = one["sides"]
    same = first["hint"] is not None and first["hint"] == second["hint"]
    missing = any(side["hint"] is None for side in one["sides"])
    gained = _difference(first, second)
    marks = [f"#{number}"]
    if gained:
        way = 0 if gained > 0 else 1
        better = f"{names[way]} +{abs(100 * gained):.0f} points"
        marks.append(f'<span class="mark {WAYS[way]}">{escape(better)}</span>')
    if one.get("sampled"):
        marks.append(f'<span class="none">no hint: {_score(one["sampled"])}</span>')
    data = {"place": number, "difference": f"{gained:.4f}", "missing": int(missing), "same": int(same)}
    known = " ".join(f'data-{name}="{value}"' for name, value in data.items())
    return (
        f'<article tabindex="0" {known} aria-labelledby="q{number}"><h3 id="q{number}">{" ".join(marks)}</h3>'
        f"{_text(one['question'], 'question')}"
        f'<div class="sides">{_sides(one["sides"], names, same=same)}</div></article>\n'
    )


def _sides(sides: Sequence[Mapping[str, Any]], names: Sequence[str], *, same: bool) -> str:
    if not same:
        return "".join(
            f'<section class="{way}">{_heading(side, name)}{_hint(side)}</section>'
            for side, name, way in zip(sides, names, WAYS, strict=True)
        )
    headings = "".join(
        f'<div class="{way}">{_heading(side, name)}</div>'
        for side, name, way in zip(sides, names, WAYS, strict=True)
    )
    said = "<small>Both say the same.</small>"
    return f'<section class="both"><div>{headings}</div>{_hint(sides[0])}{said}</section>'


def _heading(side: Mapping[str, Any], name: str) -> str:
    parts = [side["outcome"], f"{side['refined']} repairs", f"{side['tokens']:,} tokens"]
    if side["leaks"]:
        parts.insert(1, f"{side['leaks']} leaks refused")
    scores: list[str] = []
    if side.get("sampled"):
        scores.append(f"sampled {_score(side['sampled'])}")
    if side["judged"] is not None:
        scores.append(f"in the run {side['right']} of {side['judged']}")
    said = f"<span>{escape(', '.join(scores))}</span>" if scores else ""
    return f"<h4>{escape(name)}{said}</h4><small>{escape(', '.join(parts))}</small>"


def _hint(side: Mapping[str, Any]) -> str:
    if side["hint"] is None:
        return _text(f"No hint: {side['reason']}", "silent")
    return _text(side["hint"], "hint")


def _text(text: str, kind: str) -> str:
    reached = ' tabindex="0"' if len(text) > LONG else ""
    return f'<pre class="{kind}" dir="auto"{reached}>{escape(text)}</pre>'


def _score(found: Mapping[str, Any]) -> str:
    if found["refusal"]:
        return "too long to ask"
    lost = f", {found['unscorable']} without a verdict" if found["unscorable"] else ""
    return f"{found['right']} of {found['judged']} right{lost}"


def _difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> float:
    """By how much the first was better: as sampled, or else in the runs; 0 where it is not known."""
    shares = [_share(side) for side in (first, second)]
    return 0.0 if shares[0] is None or shares[1] is None else shares[0] - shares[1]


def _share(side: Mapping[str, Any]) -> float | None:
    found = side.get("sampled") or side
    return found["right"] / found["judged"] if found["judged"] else None

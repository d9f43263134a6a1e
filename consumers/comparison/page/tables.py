"""The figures of a comparison as tables: what guides did, what came of it, and whether that differs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from mentor_stream.amounts import amount, p_value, percent

Figures = Mapping[str, Any]
MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
WAYS = ("first", "second", "none")
"""The classes of a column's colour."""


def tables(document: Figures) -> str:
    """All of them, what matters most first."""
    runs, sampled = document["runs"], document.get("sampled")
    found = [_samples(runs, sampled), _differences(runs, sampled)] if sampled else []
    if any(run["answered"] for run in runs):
        note = "Questions that rollout workers asked with these hints, while the runs went on."
        found.append(_table("What came of it in the runs", note, runs, _answered(runs)))
    found.append(_table("What the guides did", "Over the cases that both runs have.", runs, _guided(runs)))
    return "".join(found)


def _guided(runs: Sequence[Figures]) -> Iterator[str]:
    yield _row("cases", [_count(run["cases"]) for run in runs])
    if any(run["undiagnosed"] for run in runs):
        words = "hints without a diagnosis, left out, in the whole run"
        yield _row(words, [_count(run["undiagnosed"]) for run in runs])
    yield _row("got a hint", [_share(run["hint_rate"]) for run in runs])
    yield _row("had a draft refused as a leak", [_share(run["leak_rate"]) for run in runs])
    for name, words in (
        ("refined", "repairs a case"), ("redrafted", "fresh drafts a case"), ("tokens", "tokens a case"),
        ("seconds", "seconds a case"), ("cost", "cost of all cases"),
    ):  # fmt: skip
        yield _row(words, [_number(run[name]) for run in runs])
    for outcome in sorted({outcome for run in runs for outcome in run["outcomes"]}):
        yield _row(f"outcome: {outcome}", [_count(run["outcomes"].get(outcome, 0)) for run in runs])


def _answered(runs: Sequence[Figures]) -> Iterator[str]:
    yield _row("hints that were asked with", [_count(run["answered"]) for run in runs])
    yield _row("of those, rescued", [_rate(run["rescue_rate"], None, w) for run, w in _coloured(runs)])
    yield _row("right answers", [_rate(run["accuracy"], None, w) for run, w in _coloured(runs)])


def _samples(runs: Sequence[Figures], sampled: Figures) -> str:
    ways = [*(run["sampled"] for run in runs), sampled["none"]]
    note = (
        f"{sampled['samples']} answers to each question by {sampled['model']} ({sampled['policy']}), at "
        f"temperature {sampled['temperature']:g}, up to {sampled['max_new_tokens']} tokens, engine "
        f"{sampled['engine']}, seed {sampled['seed']}. In small print: the 95 % interval."
    )
    rows = [
        _row("cases asked", [_count(way["cases"]) for way in ways]),
        *(
            _row(words, [_rate(way[name], way[of], colour) for way, colour in _coloured(ways)])
            for words, name, of in (
                ("rescued: one answer right, or more", "rescue_rate", "rescue_interval"),
                ("right answers", "accuracy", "accuracy_interval"),
            )
        ),
        _row("too long to ask", [_count(way["refused"]) for way in ways]),
        _row("answers without a verdict", [_count(way["unscorable_answers"]) for way in ways]),
    ]
    if sampled["unknown_cases"]:
        note += (
            f" {sampled['unknown_cases']} cases could not be asked: no stream has their questions any more."
        )
    table = _table("What the hints are good for", note, [*runs, {"run": "no hint"}], rows)
    beware = (
        f'<p class="beware" role="alert">Beware: {escape(sampled["warning"])}.</p>'
        if sampled["warning"]
        else ""
    )
    return table + beware


def _differences(runs: Sequence[Figures], sampled: Figures) -> str:
    names = [run["run"] for run in runs]
    compared: list[tuple[str, Figures | None]] = [(f"{names[0]} {MINUS} {names[1]}", sampled["paired"])]
    compared += [(f"{run['run']} {MINUS} no hint", run["sampled"]["against_none"]) for run in runs]
    rows = [row for name, found in compared if found for row in _difference(name, found)]
    if not rows:
        return ""
    note = "Question by question, where both were judged, in percentage points; p by a permutation test."
    return _headed(
        "Is the difference more than chance?",
        note,
        ("", "difference", "p", "better", "worse", "cases"),
        rows,
    )


def _difference(name: str, found: Figures) -> Iterator[str]:
    for words, of in (("rescued", "rescue"), ("right answers", "accuracy")):
        one = found[of]
        cells = [
            _points(one), escape(_or_dash(one["p_value"], p_value)),
            str(one["better"]), str(one["worse"]), _count(found["cases"]),
        ]  # fmt: skip
        yield _row(f"{name}: {words}", cells)


def _table(title: str, note: str, runs: Sequence[Figures], rows: Iterator[str] | Sequence[str]) -> str:
    return _headed(title, note, ["", *(run["run"] for run in runs)], rows, WAYS)


def _headed(
    title: str, note: str, heads: Sequence[str], rows: Iterator[str] | Sequence[str], ways: Sequence[str] = ()
) -> str:
    classes = ["", *ways, *[""] * len(heads)]
    head = "".join(
        f'<th scope="col"{way and f" class={way}"}>{escape(one)}' if one else "<td>"
        for one, way in zip(heads, classes, strict=False)
    )
    return (
        f'<h2>{escape(title)}</h2><p class="faint">{escape(note)}</p><div class="wide" tabindex="0"><table>'
        f"<thead><tr>{head}</thead><tbody>{''.join(rows)}</tbody></table></div>\n"
    )


def _row(words: str, cells: Sequence[str]) -> str:
    return f'<tr><th scope="row">{escape(words)}' + "".join(f"<td>{cell}" for cell in cells) + "\n"


def _coloured(ways: Sequence[Figures]) -> Iterator[tuple[Figures, str]]:
    return zip(ways, WAYS, strict=False)


def _rate(value: float | None, interval: Sequence[float] | None, way: str) -> str:
    """A share in percent, with its interval, as a number and as a bar."""
    if value is None:
        return DASH
    low, high = interval or (0.0, value)
    span = f"<small>{100 * low:.1f} to {100 * high:.1f}</small>" if interval else ""
    band = f'<i style="left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%"></i>'
    point = f'<b style="left:{100 * value:.1f}%"></b>'
    return f'{_share(value)}{span}<span class="bar {way}" aria-hidden="true">{band}{point}</span>'


def _points(one: Figures) -> str:
    if not (one["better"] or one["worse"]):
        return "none differs"
    interval = one["interval"]
    span = f"<small>{_signed(interval[0])} to {_signed(interval[1])}</small>" if interval else ""
    return f"{_signed(one['difference'])}{span}"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}".replace("-", MINUS)


def _share(value: float | None) -> str:
    return _or_dash(value, percent)


def _number(value: float | None) -> str:
    return escape(_or_dash(value, amount))


def _count(value: int) -> str:
    return f"{value:,}"


def _or_dash(value: float | None, shown: Callable[[float], str]) -> str:
    return DASH if value is None else shown(value)

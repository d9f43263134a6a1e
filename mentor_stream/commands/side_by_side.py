"""Two runs' hints on a terminal: the figures of both, what trying has shown, and the first questions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mentor_stream.amounts import NONE, amount, p_value, percent, points
from mentor_stream.commands.output import say, table
from mentor_stream.legible import line

SHOWN = 20
"""Questions; `--html` and `--json` have all."""
CHARACTERS = 200
"""Of a question or a hint."""
EACH = (
    ("repairs a case", "refined"), ("fresh drafts a case", "redrafted"), ("tokens a case", "tokens"),
    ("seconds a case", "seconds"), ("cost of all cases", "cost"),
)  # fmt: skip
RATES = (("rescued", "rescue_rate", "rescue_interval"), ("right answers", "accuracy", "accuracy_interval"))
Figures = Mapping[str, Any]


def show(document: Figures) -> None:
    """Print a comparison."""
    runs = document["runs"]
    names = [f">{run['run']}" for run in runs]
    table(("", *names), list(_guided(runs)))
    if any(run["answered"] for run in runs):
        say("")
        table(("", *names), list(_answered(runs)), title="In the runs themselves")
    if sampled := document.get("sampled"):
        samples(sampled, runs)
    _questions(document["questions"], runs)


def _guided(runs: Sequence[Figures]) -> Iterator[tuple[str, ...]]:
    yield ("cases that both have", *(f"{run['cases']:,}" for run in runs))
    if any(run["undiagnosed"] for run in runs):
        yield ("hints without a diagnosis, left out", *(f"{run['undiagnosed']:,}" for run in runs))
    yield ("got a hint", *(percent(run["hint_rate"]) for run in runs))
    yield ("had a draft refused as a leak", *(percent(run["leak_rate"]) for run in runs))
    for words, name in EACH:
        yield (words, *(amount(run[name]) for run in runs))
    for outcome in sorted({outcome for run in runs for outcome in run["outcomes"]}):
        yield (f"outcome: {outcome}", *(f"{run['outcomes'].get(outcome, 0):,}" for run in runs))


def _answered(runs: Sequence[Figures]) -> Iterator[tuple[str, ...]]:
    yield ("hints that were asked with", *(f"{run['answered']:,}" for run in runs))
    for words, name, _ in RATES:
        yield (words, *(percent(run[name]) for run in runs))


def samples(sampled: Figures, runs: Sequence[Figures]) -> None:
    """Print what came of trying the hints, and whether the two runs differ."""
    ways = [*(run["sampled"] for run in runs), sampled["none"]]
    rows = [("cases asked", *(f"{way['cases']:,}" for way in ways))]
    for words, name, interval in RATES:
        rows.append((words, *(percent(way[name]) for way in ways)))
        rows.append(("  95 % interval", *(_span(way[interval]) for way in ways)))
    rows.append(("too long to ask", *(f"{way['refused']:,}" for way in ways)))
    rows.append(("answers without a verdict", *(f"{way['unscorable_answers']:,}" for way in ways)))
    say(f"\n{sampled['samples']} answers each by {sampled['model']} ({sampled['policy']}):")
    if sampled["warning"]:
        say(f"Beware: {sampled['warning']}.", "bold red")
    table(("", *(f">{run['run']}" for run in runs), ">no hint"), rows)
    names = [run["run"] for run in runs]
    compared = [(" - ".join(names), sampled["paired"])]
    compared += [(f"{run['run']} - no hint", run["sampled"]["against_none"]) for run in runs]
    headers = ("", "", ">cases", ">points", ">95 % interval", ">p", ">better", ">worse")
    rows = [row for name, found in compared if found for row in _differences(name, found)]
    say("")
    table(headers, rows, title="Is the difference more than chance?")


def _differences(name: str, found: Figures) -> Iterator[tuple[str, ...]]:
    for words, of in (("rescued", "rescue"), ("right", "accuracy")):
        one = found[of]
        span = _span(one["interval"], points) if one["better"] or one["worse"] else "none differs"
        counts = (str(one["better"]), str(one["worse"]))
        yield (
            name,
            words,
            f"{found['cases']:,}",
            points(one["difference"]),
            span,
            p_value(one["p_value"]),
            *counts,
        )


def _questions(questions: Sequence[Figures], runs: Sequence[Figures]) -> None:
    for one in questions[:SHOWN]:
        bare = f" [no hint: {_score(one['sampled'])}]" if one.get("sampled") else ""
        say(f"\n{_cut(line(one['question']))}{bare}")
        for run, side in zip(runs, one["sides"], strict=True):
            said = side["hint"] if side["hint"] is not None else f"({side['outcome']}: {side['reason']})"
            score = "" if side["judged"] is None else f" [{side['right']} of {side['judged']}]"
            tried = f" [sampled: {_score(side['sampled'])}]" if side.get("sampled") else ""
            say(f"  {run['run']}{score}{tried}: {_cut(line(said))}", indent=4)
    if len(questions) > SHOWN:
        say(f"\nand {len(questions) - SHOWN:,} more: --html or --json has them all")


def _span(interval: Sequence[float] | None, shown: Any = None) -> str:
    if interval is None:
        return NONE
    return " to ".join(shown(end) if shown else f"{100 * end:.1f}" for end in interval)


def _score(found: Figures) -> str:
    return "too long" if found["refusal"] else f"{found['right']} of {found['judged']}"


def _cut(text: str) -> str:
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]} ..."

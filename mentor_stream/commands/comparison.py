"""`mentor-stream compare`: two mentor policies side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mentor_stream.commands.arguments import AnyRun, AsJson

if TYPE_CHECKING:
    pass

app = typer.Typer()

SHOWN = 20
RATES = (("rescued", "rescue_rate", "rescue_interval"), ("right answers", "accuracy", "accuracy_interval"))


@app.command(
    "compare",
    short_help="Put two runs' hints for the same failures side by side.",
    epilog="Example: mentor-stream compare examples/chain/demo.toml examples/chain/demo.toml:again "
    "--samples 16",
)
def compare(
    first: AnyRun,
    second: AnyRun,
    html: Annotated[Path | None, typer.Option(help="Also write a page that needs nothing else.")] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Try the hints: so many answers with each, and without.  [default: rollout.group_size]",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Try them on this one, or newest.  [default: the newest release, or run.policy]"),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="What samples: a kind or a table.  [default: rollout.engine]")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the sampling.  [default: run.seed]")] = None,
    out: Annotated[
        Path, typer.Option(help="A folder where sampled answers are kept, and gone on from.")
    ] = Path("runs/compare"),
    json: AsJson = False,
) -> None:
    """Put two runs' hints for the same failures side by side: outcomes, leaks, repairs, tokens, what helped.

    A run's own name, or behind a colon that of a replay on the same broker: demo.toml:again. With --samples
    (or --model, or --engine) a model answers every question again with either hint and with none, asked and
    judged as the first config says.
    """
    from mentor_stream import tools
    from mentor_stream.commands.output import print_json
    from mentor_stream.commands.run import named

    comparison = tools.load("comparison")
    runs = named(first), named(second)
    if html:
        comparison.check_page(html)
    compared = comparison.compare(*runs)
    document = compared.document()
    if samples or model or engine:
        policy = comparison.chosen_policy(runs[0], model)
        sampled = _sampled(
            comparison.cases(*runs, compared),
            config=runs[0][0],
            model=policy.model,
            release=policy.release,
            engine=engine,
            samples=samples,
            seed=seed,
            out=out,
        )
        document = comparison.with_samples(document, {"policy": policy.why} | sampled)
    if html:
        comparison.write_page(document, html)
    if json:
        print_json(document)
    else:
        _print(document)


def _sampled(cases: "list[Any]", **request: Any) -> dict[str, Any]:
    from functools import partial

    from mentor_stream import tools
    from mentor_stream.commands.progress import counting

    with counting() as progress:
        return tools.load("rescue").sample(partial(progress, "prompts"), cases, **request)


def _print(document: dict[str, Any]) -> None:
    from mentor_stream.commands.output import table
    from mentor_stream.legible import line

    runs, questions = document["runs"], document["questions"]
    names = [name for name in runs[0] if name not in ("run", "guides", "outcomes", "sampled")]
    shown = [name for name in names if name != "undiagnosed" or any(run[name] for run in runs)]
    rows = [(name.replace("_", " "), *(_shown(run[name]) for run in runs)) for name in shown]
    outcomes = sorted({outcome for run in runs for outcome in run["outcomes"]})
    rows += [(outcome, *(str(run["outcomes"].get(outcome, 0)) for run in runs)) for outcome in outcomes]
    table(("", *(f">{run['run']}" for run in runs)), rows)
    if sampled := document.get("sampled"):
        _print_samples(sampled, runs)
    for one in questions[:SHOWN]:
        bare = f" [no hint: {_score(one['sampled'])}]" if one.get("sampled") else ""
        typer.echo(f"\n{_cut(line(one['question']))}{bare}")
        for run, side in zip(runs, one["sides"], strict=True):
            said = side["hint"] if side["hint"] is not None else f"({side['outcome']}: {side['reason']})"
            score = "" if side["judged"] is None else f" [{side['right']} of {side['judged']}]"
            tried = f" [sampled: {_score(side['sampled'])}]" if side.get("sampled") else ""
            typer.echo(f"  {run['run']}{score}{tried}: {_cut(line(said))}")
    if len(questions) > SHOWN:
        typer.echo(f"\nand {len(questions) - SHOWN} more: --html or --json has them all")


def _print_samples(sampled: dict[str, Any], runs: list[dict[str, Any]]) -> None:
    """What came of trying the hints, and whether the two runs differ."""
    from mentor_stream.commands.output import table

    ways = [*(run["sampled"] for run in runs), sampled["none"]]
    rows = [
        ("cases", *(str(way["cases"]) for way in ways)),
        *((f"{words}, %", *(_percent(way[name], way[of]) for way in ways)) for words, name, of in RATES),
        ("too long to ask", *(str(way["refused"]) for way in ways)),
        ("answers without a verdict", *(str(way["unscorable_answers"]) for way in ways)),
    ]
    typer.echo("")
    typer.echo(f"{sampled['samples']} answers each by {sampled['model']} ({sampled['policy']}):")
    table(("", *(f">{run['run']}" for run in runs), ">no hint"), rows)
    names = [run["run"] for run in runs]
    compared = [(" - ".join(names), sampled["paired"])]
    compared += [(f"{run['run']} - no hint", run["sampled"]["against_none"]) for run in runs]
    headers = ("difference", "", ">cases", ">%", ">95 % interval", ">p", ">better", ">worse")
    typer.echo("")
    table(headers, [row for name, found in compared if found for row in _differences(name, found)])


def _differences(name: str, found: dict[str, Any]) -> "list[tuple[str, ...]]":
    rows: list[tuple[str, ...]] = []
    for words, of in (("rescued", "rescue"), ("right answers", "accuracy")):
        one = found[of]
        p = "-" if one["p_value"] is None else f"{one['p_value']:.3g}"
        share, span = _hundred(one["difference"]), _span(one["interval"])
        rows.append((name, words, str(found["cases"]), share, span, p, str(one["better"]), str(one["worse"])))
    return rows


def _percent(value: float | None, interval: list[float] | None) -> str:
    return _hundred(value) if interval is None else f"{_hundred(value)} ({_span(interval)})"


def _hundred(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _span(interval: list[float] | None) -> str:
    return "-" if interval is None else " to ".join(map(_hundred, interval))


def _score(found: dict[str, Any]) -> str:
    return "too long" if found["refusal"] else f"{found['right']} of {found['judged']}"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _cut(text: str, most: int = 200) -> str:
    return text if len(text) <= most else f"{text[:most]} ..."

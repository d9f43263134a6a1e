"""`mentor-stream eval`: how good a model is at known suites of questions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mentor_stream.commands.arguments import AsJson

app = typer.Typer()


@app.command(
    "eval",
    short_help="Ask a model the questions of suites: how many it gets right.",
    epilog="Example: mentor-stream eval runs/my/model --suite math500 --samples 4",
)
def evaluate(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="A Hugging Face directory.", show_default=False)
    ] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(help="A suite, a group of them such as math, or a .toml file of yours."),
    ] = None,
    questions_at: Annotated[
        str | None,
        typer.Option("--data", help="Where the questions are: a file, a folder, hub:OWNER/NAME:SPLIT."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where answers are kept, and gone on from.  [default: runs/eval/MODEL]"),
    ] = None,
    against: Annotated[Path | None, typer.Option(help="Another evaluation's --out, to compare with.")] = None,
    engine: Annotated[
        str, typer.Option(help="What samples, as rollout.engine: a kind or a table.")
    ] = "transformers",
    samples: Annotated[int | None, typer.Option(min=1, help="Answers a question.")] = None,
    temperature: Annotated[float | None, typer.Option(min=0)] = None,
    top_p: Annotated[float | None, typer.Option(min=0, max=1)] = None,
    max_new_tokens: Annotated[int | None, typer.Option(min=1, help="Longest answer.")] = None,
    max_prompt_tokens: Annotated[int, typer.Option(min=1, help="Longer questions are left out.")] = 4096,
    questions: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many of each suite.")
    ] = None,
    batch: Annotated[
        int, typer.Option(min=1, help="Questions sampled together by the transformers engine.")
    ] = 32,
    workers: Annotated[int, typer.Option(min=1, help="Processes that judge.")] = 2,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    show: Annotated[bool, typer.Option("--list", help="Show the suites there are.")] = False,
    json: AsJson = False,
) -> None:
    """Ask MODEL the questions of suites and tell how many it gets right, and how sure that is.

    Stopped and started again, it goes on where it was. What a suite says of sampling, options replace.
    """
    from mentor_stream import tools
    from mentor_stream.commands.progress import counting
    from mentor_stream.config import ConfigError

    evaluation = tools.load("evaluation")
    if show:
        _list(evaluation.suites(), as_json=json)
        return
    if model is None or not suite:
        raise ConfigError(
            "eval needs a MODEL and at least one --suite; mentor-stream eval --list shows them."
        )
    options = {
        "samples": samples,
        "temperature": temperature,
        "top_p": top_p,
        "max_new_tokens": max_new_tokens,
    }
    with counting() as progress:
        document = evaluation.evaluate(
            suite,
            {name: value for name, value in options.items() if value is not None},
            out or Path("runs/eval") / model.resolve().name,
            against,
            progress,
            model=model,
            engine=engine,
            questions=questions,
            questions_at=questions_at,
            batch=batch,
            max_prompt_tokens=max_prompt_tokens,
            workers=workers,
            seed=seed,
        )
    _print(document, as_json=json)


def _print(document: Mapping[str, Any], *, as_json: bool) -> None:
    from mentor_stream.commands.output import print_json, table

    if as_json:
        print_json(dict(document))
        return
    suites = document["suites"].values()
    powers = list(dict.fromkeys(k for one in suites for k in one["pass"]))
    headers = ("suite", ">questions", ">avg@k", ">95 % interval", *(f">pass@{k}" for k in powers), ">tokens",
               ">cut off", ">unscorable")  # fmt: skip
    table(headers, [_row(one, powers) for one in suites], title=document["model"])
    if document["against"]:
        headers = ("suite", ">questions", ">difference", ">95 % interval", ">p", ">better", ">worse")
        table(headers, map(_paired_row, suites), title=f"against {document['against']}")
    typer.echo(f"answers: {document['out']}")


def _row(one: Mapping[str, Any], powers: Sequence[str]) -> Sequence[str]:
    return (
        one["title"], str(one["questions"]), _percent(one["accuracy"]), _span(one["interval"]),
        *(_percent(one["pass"].get(k)) for k in powers),
        "-" if one["tokens_mean"] is None else f"{one['tokens_mean']:.0f}",
        _percent(one["cut_off"]), str(one["unscorable_answers"]),
    )  # fmt: skip


def _paired_row(one: Mapping[str, Any]) -> Sequence[str]:
    found = one["against"]
    p = "-" if found["p_value"] is None else f"{found['p_value']:.3g}"
    return (
        one["title"], str(found["questions"]), _percent(found["difference"]), _span(found["interval"]), p,
        str(found["better"]), str(found["worse"]),
    )  # fmt: skip


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _span(interval: Sequence[float] | None) -> str:
    return "-" if interval is None else " to ".join(map(_percent, interval))


def _list(known: Mapping[str, Mapping[str, Any]], *, as_json: bool) -> None:
    from mentor_stream.commands.output import print_json, say

    if as_json:
        print_json(dict(known))
        return
    for name, one in known.items():
        each = f"{one['samples']} answer{'s' * (one['samples'] != 1)} each"
        say(f"{name:<13}  {one['title']}: {one['group']}, {each}", "bold", 15)
        say(f"{'':<13}  {one['questions']}", indent=15)

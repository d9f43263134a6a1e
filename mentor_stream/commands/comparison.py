"""`mentor-stream compare`: two mentor policies side by side."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mentor_stream.commands.arguments import AnyRun, AsJson

app = typer.Typer()


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
            help="Try the hints: so many answers with each, and without. With --model or --engine alone: "
            "rollout.group_size.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Try them on this one, or newest.  [default: the nearest to those that failed]"),
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
    from mentor_stream.commands import side_by_side
    from mentor_stream.commands.output import print_json
    from mentor_stream.commands.run import named

    comparison = tools.load("comparison")
    runs = named(first), named(second)
    if html:
        comparison.check_page(html)
    compared = comparison.compare(*runs)
    document = compared.document()
    if samples or model or engine:
        policy = comparison.chosen_policy(runs[0], model, compared)
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
        side_by_side.show(document)


def _sampled(cases: "list[Any]", **request: Any) -> dict[str, Any]:
    from functools import partial

    from mentor_stream import tools
    from mentor_stream.commands.progress import counting

    with counting() as progress:
        return tools.load("rescue").sample(partial(progress, "prompts"), cases, **request)

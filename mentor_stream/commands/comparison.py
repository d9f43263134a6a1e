"""`mentor-stream compare`: two mentor policies side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mentor_stream.commands.arguments import AsJson

if TYPE_CHECKING:
    from mentor_stream.config import Config

app = typer.Typer()

Run = Annotated[
    str, typer.Argument(metavar="CONFIG[:RUN]", help="A TOML file; behind a colon another run there.")
]
SHOWN = 20


@app.command(
    "compare", epilog="Example: mentor-stream compare examples/chain/demo.toml runs/other.toml:again"
)
def compare(
    first: Run,
    second: Run,
    html: Annotated[Path | None, typer.Option(help="Also write a page that needs nothing else.")] = None,
    json: AsJson = False,
) -> None:
    """Put two runs' hints for the same failures side by side: outcomes, leaks, repairs, tokens, what helped.

    A run's own name, or behind a colon that of a replay on the same broker: demo.toml:again.
    """
    from mentor_stream import tools
    from mentor_stream.commands.output import print_json

    comparison = tools.load("comparison")
    document = comparison.compare(_run(first), _run(second))
    if html:
        comparison.write_page(document, html)
    if json:
        print_json(document)
    else:
        _print(document)


def _run(named: str) -> "tuple[Config, str]":
    from mentor_stream.commands.run import load

    path, _, name = named.partition(":")
    config = load(Path(path))
    return config, name or config.run.name


def _print(document: dict[str, Any]) -> None:
    from mentor_stream.commands.output import table
    from mentor_stream.legible import line

    runs, questions = document["runs"], document["questions"]
    names = [name for name in runs[0] if name not in ("run", "guides", "outcomes")]
    rows = [(name.replace("_", " "), *(_shown(run[name]) for run in runs)) for name in names]
    outcomes = sorted({outcome for run in runs for outcome in run["outcomes"]})
    rows += [(outcome, *(str(run["outcomes"].get(outcome, 0)) for run in runs)) for outcome in outcomes]
    table(("", *(f">{run['run']}" for run in runs)), rows)
    for one in questions[:SHOWN]:
        typer.echo(f"\n{_cut(line(one['question']))}")
        for run, side in zip(runs, one["sides"], strict=True):
            said = side["hint"] if side["hint"] is not None else f"({side['outcome']}: {side['reason']})"
            score = "" if side["judged"] is None else f" [{side['right']} of {side['judged']}]"
            typer.echo(f"  {run['run']}{score}: {_cut(line(said))}")
    if len(questions) > SHOWN:
        typer.echo(f"\nand {len(questions) - SHOWN} more: --html or --json has them all")


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _cut(text: str, most: int = 200) -> str:
    return text if len(text) <= most else f"{text[:most]} ..."

"""`mentor-stream metrics`: what components measure, and how else a run's figures can be seen."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from mentor_stream.commands.arguments import AnyRun, AsJson

app = typer.Typer(
    name="metrics", help="What components measure, and where else it can be seen.", no_args_is_help=True
)

SAID = (("what", "means"), ("normal", "normal"), ("otherwise", "act"))


@app.command(
    "list",
    short_help="List every metric, and what to do when it moves.",
    epilog="Example: mentor-stream metrics list staleness",
)
def list_(
    word: Annotated[
        str | None, typer.Argument(metavar="[WORD]", help="Only those with it in their name or meaning.")
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print them as docs/metrics.md has them.")
    ] = False,
    json: AsJson = False,
) -> None:
    """List every metric: what it means, what is normal, what to do when it moves."""
    from mentor_stream.commands.output import entries, print_json
    from mentor_stream.config import ConfigError
    from mentor_stream.metrics import page

    if word and markdown:
        raise typer.BadParameter("--markdown prints all of them: leave the WORD out")
    found = [one for one in page.document() if word is None or _holds(one, word)]
    if not found:
        raise ConfigError(
            f"no metric has {word!r} in its name or meaning: mentor-stream metrics list has all"
        )
    if json:
        print_json({"metrics": found})
    elif markdown:
        typer.echo(page.markdown(), nl=False)
    else:
        entries((str(m["name"]), _aside(m), [(label, str(m[key])) for label, key in SAID]) for m in found)


def _holds(metric: Mapping[str, object], word: str) -> bool:
    return any(word.casefold() in str(metric[key]).casefold() for key in ("name", "means"))


def _aside(metric: Mapping[str, object]) -> str:
    return ", ".join(filter(None, (str(metric["kind"]), str(metric["unit"]))))


@app.command(
    "export",
    short_help="Write a run's metrics for TensorBoard or Weights & Biases.",
    epilog="Example: mentor-stream metrics export examples/chain/demo.toml runs/demo/tb --to tensorboard",
)
def export(
    run: AnyRun,
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where files and the place reached are kept.")
    ],
    to: Annotated[Literal["tensorboard", "wandb"], typer.Option(help="For whom.")],
    follow: Annotated[bool, typer.Option(help="Go on with what comes, until Ctrl-C.")] = False,
    every: Annotated[
        float,
        typer.Option(min=0, help="Seconds between two points of a worker; of the trainer all are kept."),
    ] = 10.0,
) -> None:
    """Write a run's metrics, each once: called again, it goes on from where it was."""
    from mentor_stream import tools
    from mentor_stream.commands.run import named

    config, name = named(run)
    chosen = config.run.model_copy(update={"name": name})
    written = tools.load("writers").export(chosen, directory, to, follow=follow, every=every)
    typer.echo(f"{written} new records written for {to}, in {directory}")

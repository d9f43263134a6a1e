"""`mentor-stream retrain`: training once more from what a run has recorded."""

from pathlib import Path
from typing import Annotated

import typer

from mentor_stream.commands.arguments import Recorded

app = typer.Typer()


@app.command(
    short_help="Train once more, from the groups that a run recorded.",
    epilog="Example: mentor-stream retrain --from examples/chain/demo.toml --to runs/demo-again",
)
def retrain(
    recorded: Recorded,
    to: Annotated[Path, typer.Option(help="A new folder for steps.jsonl, batches.jsonl and the policy.")],
    trainer: Annotated[
        Path | None,
        typer.Option(help="A TOML file with [run] and [trainer] to train by.  [default: --from's]"),
    ] = None,
    until: Annotated[int | None, typer.Option(min=1, help="Stop after this version.")] = None,
    batches: Annotated[
        Path | None, typer.Option(help="The run's batches.jsonl.  [default: in its directory]")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Begin with this one of the run's checkpoints/.  [default: run.policy]"),
    ] = None,
    rebatch: Annotated[
        bool, typer.Option("--rebatch", help="Cut batches anew, of groups in the order of their time.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line instead.")] = False,
) -> None:
    """Train from recorded groups, in the very batches of the run; print each loss beside the recorded one.

    No feeder, rollout worker or mentor, and nothing of the run is touched. With the same settings every loss
    is the same to the bit (fp32, CPU). One for a try: MENTOR_STREAM__TRAINER__LR=1e-5 before the command.
    """
    from mentor_stream import tools
    from mentor_stream.commands.run import named

    if batches and rebatch:
        raise typer.BadParameter("--batches says which groups go together, and --rebatch that none do")
    if checkpoint and rebatch:
        raise typer.BadParameter("a --checkpoint goes on with the run's batches: without --rebatch")
    config, run = named(recorded)
    tools.load("retraining").retrain(
        config,
        run,
        trainer,
        to,
        batches=batches,
        rebatch=rebatch,
        checkpoint=checkpoint,
        until=until,
        as_json=json,
    )

"""What most commands are given."""

from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="The run's TOML file.")]
AnyRun = Annotated[
    str, typer.Argument(metavar="CONFIG[:RUN]", help="A TOML file; behind a colon another run there.")
]
Recorded = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="CONFIG[:RUN]",
        help="The recorded run's TOML file; behind a colon another run there.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]

"""What most commands are given."""

from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="The run's TOML file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]

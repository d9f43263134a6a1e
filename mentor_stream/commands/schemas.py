"""`mentor-stream schemas`: the records on the stream, for whoever else reads it."""

from typing import Annotated

import typer

app = typer.Typer()


@app.command(epilog="Example: mentor-stream schemas --json > schemas.json")
def schemas(
    json: Annotated[bool, typer.Option("--json", help="Print JSON Schema of every record.")] = False,
) -> None:
    """List the records on the stream, or export their JSON Schema."""
    import json as jsonlib

    import schemas as records

    if json:
        typer.echo(jsonlib.dumps(records.json_schemas(), indent=2))
        return
    for name, record in records.RECORDS.items():
        typer.echo(f"{name} (version {record.VERSION}): {(record.__doc__ or '').splitlines()[0]}")

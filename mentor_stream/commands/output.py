"""What commands print: tables for people, JSON for programs."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

ENDLESS = 10_000
Entry = tuple[str, str, Sequence[tuple[str, str]]]
"""A name, a word beside it, and what is said of it: each a label and a text."""


def print_json(document: dict[str, Any]) -> None:
    """Print one document."""
    typer.echo(json.dumps(document, indent=2, allow_nan=False))


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> None:
    """Print rows under headers; one that starts with > is of numbers, aligned to the right.

    As wide as the terminal, or whole plain lines into a pipe.
    """
    from rich.table import Table
    from rich.text import Text

    made = Table(
        title=title or None,
        title_justify="left",
        title_style="bold cyan",
        box=None,
        pad_edge=False,
        show_header=any(headers),
    )
    for header in headers:
        number = header.startswith(">")
        made.add_column(
            Text(header.removeprefix(">"), style="dim"),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="fold",
        )
    for row in rows:
        made.add_row(*map(Text, row))
    _print(made, sys.stdout)


def entries(items: Iterable[Entry]) -> None:
    """Print each under its name, what is said of it below and indented.

    As wide as the terminal, or whole plain lines into a pipe.
    """
    from rich.console import Console, Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout) if sys.stdout.isatty() else None
    for name, aside, said in items:
        if console is None:
            lines = [f"{name}  {aside}".rstrip(), *(f"  {label}: {text}" for label, text in said), ""]
            typer.echo("\n".join(lines))
            continue
        below = Table.grid(padding=(0, 1))
        for label, text in said:
            below.add_row(Text(label, style="dim"), Text(text, overflow="fold"))
        head = Text.assemble((name, "bold cyan"), "  ", (aside, "dim"), overflow="fold")
        console.print(Group(head, Padding(below, (0, 0, 1, 2))))


def say(text: str, style: str = "", indent: int = 0) -> None:
    """Print a text: in rows as wide as the terminal, from the second on behind so many columns.

    Whole and plain into a pipe.
    """
    from rich.console import Console

    if sys.stdout.isatty():
        console = Console(file=sys.stdout, highlight=False)
        console.print(wrapped(text, console.width, style, indent))
    else:
        typer.echo(text)


def wrapped(text: str, width: int, style: str = "", indent: int = 0) -> "Text":
    """The text in rows of so many columns; where few are left beside it, without the room before."""
    from rich.console import Console
    from rich.text import Text

    if width < 2 * indent:
        return Text(text, style=style, overflow="fold")
    rows = Text(text[indent:], overflow="fold").wrap(Console(width=width), width - indent)
    heads = [text[:indent], *[" " * indent] * (len(rows) - 1)]
    lines = [Text.assemble(head, row) for head, row in zip(heads, rows, strict=True)]
    joined = Text("\n").join(lines)
    joined.stylize(style)
    return joined


def _print(made: "Table", out: IO[str]) -> None:
    from rich.console import Console

    if out.isatty():
        Console(file=out).print(made)
        return
    console = Console(file=out, width=ENDLESS)
    with console.capture() as lines:
        console.print(made)
    out.writelines(f"{line.rstrip()}\n" for line in lines.get().splitlines())

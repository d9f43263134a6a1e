"""What commands print for people: as wide as the terminal, or whole plain lines into a pipe."""

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

ENDLESS = 10_000


def console() -> Console:
    """Standard output. Nothing printed to it is read as markup: wrap foreign text in Text."""
    width = None if sys.stdout.isatty() else ENDLESS
    return Console(width=width, highlight=False, markup=False, emoji=False)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> None:
    """Print rows under headers; one that starts with > is of numbers, aligned to the right."""
    made = Table(title=title or None, title_justify="left", title_style="bold cyan", box=None, pad_edge=False)
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
    console().print(made)

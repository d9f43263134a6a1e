"""How texts are laid out on a terminal."""

import io

import pytest
from rich.console import Console

from mentor_stream.commands.output import wrapped


def rows(text: str, *, indent: int, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    with console.capture() as shown:
        console.print(wrapped(text, width, "", indent))
    return [row.rstrip() for row in shown.get().splitlines()]


def test_a_long_text_goes_on_behind_its_label():
    text = f"{'went wrong':>13}  {'a forgotten carry ' * 8}".rstrip()
    first, *others = rows(text, indent=15, width=80)
    assert first.startswith("   went wrong  a forgotten")
    assert len(others) >= 1
    assert all(row.startswith(" " * 15) and row[15] != " " and len(row) <= 80 for row in others)
    assert " ".join([first.strip(), *map(str.strip, others)]) == text.strip()


@pytest.mark.parametrize("width", [10, 15, 29])
def test_a_narrow_terminal_gets_all_of_it_without_the_room_before(width: int):
    text = f"{'hint':>13}  after step 7 the value is 43"
    shown = rows(text, indent=15, width=width)
    assert "".join("".join(shown).split()) == "".join(text.split())
    assert all(len(row) <= width for row in shown)

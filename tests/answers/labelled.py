"""Reads tables of labelled answers, as cases.txt explains them."""

import re
from pathlib import Path
from typing import NamedTuple

TABLES = (Path(__file__).with_name("cases.txt"), Path(__file__).with_name("later.txt"))
_CHARACTER = re.compile(r"⟨([0-9A-F]{4})⟩")


class Case(NamedTuple):
    """One row: a reference, what a policy wrote, and whether it is right."""

    place: str
    reference: str
    completion: str
    right: bool


def cases(table: Path) -> list[Case]:
    """All rows of a table."""
    lines = enumerate(table.read_text().splitlines(), 1)
    return [
        _case(f"{table.name}:{number}", line) for number, line in lines if line and not line.startswith("#")
    ]


def _case(place: str, line: str) -> Case:
    label, reference, completion = line.split(" ¦ ")
    assert label in ("right", "wrong"), place
    return Case(place, _spelt(reference), _spelt(completion), label == "right")


def _spelt(text: str) -> str:
    return _CHARACTER.sub(lambda found: chr(int(found[1], 16)), text).replace("⏎", "\n")

"""Completions with the verdict that they deserve, from choice.toml and code.toml."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import schemas
from schemas import Verdict
from tests.builders import a_query

HERE = Path(__file__).parent
VERDICTS = {"right": Verdict.RIGHT, "wrong": Verdict.WRONG, "unscorable": Verdict.UNSCORABLE}


class Labelled(NamedTuple):
    """One completion."""

    query: schemas.Query
    completion: str
    verdict: Verdict
    options: dict[str, Any]
    """Of the verifier."""
    name: str = ""


def choices() -> Iterator[Labelled]:
    """Of multiple-choice questions."""
    for question in _tables("choice.toml", "question"):
        query = msgspec.structs.replace(
            a_query(question["text"], question["reference"]), extra=question.get("extra", {})
        )
        options = {name: question[name] for name in ("options", "counts_from") if name in question}
        for name, verdict in VERDICTS.items():
            for completion in question.get(name, []):
                yield Labelled(query, completion, verdict, options, f"{name}: {completion[-40:]!r}")


def programs() -> Iterator[Labelled]:
    """Of tasks for programs; a text without a fence is a program and gets one."""
    for task in _tables("code.toml", "task"):
        query = msgspec.structs.replace(a_query(task["name"], task["reference"]), extra=task.get("extra", {}))
        for program in task["program"]:
            text = program["text"]
            completion = text if program.get("whole") else f"Here it is:\n\n```python\n{text}\n```"
            name = f"{task['name']}: {program['what']}"
            yield Labelled(query, completion, VERDICTS[program["verdict"]], task.get("options", {}), name)


def _tables(file: str, name: str) -> list[dict[str, Any]]:
    return tomllib.loads((HERE / file).read_text())[name]

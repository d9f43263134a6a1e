"""Inputs and outputs of tests that the question does not show, in a hint. No I/O."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from consumers.leak.characters import plain_characters
from consumers.leak.values import is_telling, items, readings, row
from mentor_stream.answers.programs import Test

RUN = 6
"""Numbers in a row that are looked for within a longer line."""
FEW = 4
"""Values of an output that is no secret by itself."""

_OUTPUT = r"(?:outputs?|results?|answers?)"
_IS = r"(?: (?!not |\|)\S+){0,6}? (?:is|are|was|be|=|->)"
_CALLED = re.compile(
    rf" (?:(?:expected|correct|right|required|desired) (?:{_OUTPUT}|values?)(?:{_IS})?|{_OUTPUT}{_IS})"
    r" (?P<value>\S+)(?= )"
)
_MARK = re.compile(r"[^\w\s,.'\"-]")
"""Of these, brackets or what draws a picture, several tell a line."""
_SPEAKS_OF = (
    r"(?:[\"'`*\u201c\u2018(\[]|\b(?:on|for|is|are|like|with|about|inputs?|outputs?|prints?|returns?|text|words?|strings?"
    r"|try|consider|trace|gives?|be) )"
)
_LINK = (
    r"(?:prints?|returns?|outputs?|answers?|results?|gives?|is|be|yields?|gets?|expects?|makes?|->|=>|→|=)"
)
_CASE = r"(?:for|on|with|when|where|input|if|given|of|at|=)"


class Heard(NamedTuple):
    """A text as tests are looked for in it."""

    text: str
    values: str
    """Its numbers and words in a row (values.readings)."""
    marks: str
    """Without any space."""


def told(hint: str, question: str, tests: Sequence[Test]) -> str | None:
    """What a hint says of a test that the question does not show, or None.

    What would tell an output that many tests have (YES, 1) is only the test's input beside it, or that the
    hint calls it the output.
    """
    said, asked = _heard(hint), _heard(question)
    called = {match["value"] for match in _CALLED.finditer(said.values)}
    for test in tests:
        for name, text in (("output", test.output), ("input", test.input)):
            if line := _line(text, said, asked):
                return f"a hidden test's {name}: {line[:80]}"
        output = items(test.output)
        if len(output) == 1 and output[0] in called and row(output) not in asked.values:
            return f"a hidden test's output: {output[0]}"
        if 0 < len(output) <= FEW and _tied(test, row(output), said, asked):
            return f"a hidden test's output with its input: {test.output.strip()}"
    return _run(said.values, asked.values, tests)


def _heard(text: str) -> Heard:
    return Heard(plain_characters(text).casefold(), readings(text), _squeezed(text))


def _line(text: str, said: Heard, asked: Heard) -> str | None:
    """A line of a test that stands in the hint and tells it, or several short ones."""
    short: list[str] = []
    for line in text.splitlines():
        values = items(line)
        wanted = row(values)
        if values and wanted in said.values and wanted not in asked.values:
            if is_telling(values) and (len(values) > 1 or _is_quoted(wanted.strip(), said.text)):
                return line
            short += [line] if len(values) > 2 else []
        if not is_telling(values) and len(_MARK.findall(line)) > 3:
            figure = _squeezed(line)
            if len(figure) > 6 and figure in said.marks and figure not in asked.marks:
                return line
    return ", ".join(short) if len(set(short)) > 1 else None


def _is_quoted(word: str, text: str) -> bool:
    """Whether a word is spoken of, not only used; a number always is."""
    return not word.isalpha() or bool(re.search(rf"{_SPEAKS_OF}{re.escape(word)}(?!\w)", text))


def _tied(test: Test, output: str, said: Heard, asked: Heard) -> bool:
    """Whether a hint says an output beside the input that it belongs to, and the question does not."""
    given = row(items(test.input))
    if not given.strip():
        figure = _squeezed(test.input)
        return (
            len(figure) > 2 and figure in said.marks and figure not in asked.marks and output in said.values
        )
    if given == output or given.rstrip() + output in asked.values:
        return False
    inputs = (given for given in _inputs(test.input) if given in said.values)
    return any(_beside(one, output, said.values) and not _beside(one, output, asked.values) for one in inputs)


def _beside(given: str, output: str, text: str) -> bool:
    """Whether a text says which output goes with which input: `for 4 it prints 3`, `3 when given 4`."""
    few, value = r"(?:[^|\s]+ ){0,8}?", re.escape(output[1:])
    case = rf" {_CASE}(?: [^|\s]+){{0,2}}" if len(given) < 6 else ""
    after = rf"{case}{re.escape(given)}{few}{_LINK} {few}{value}"
    before = rf" {value}{few}{_CASE} {few}{re.escape(given[1:])}"
    return bool(re.search(after, text) or re.search(before, text))


def _inputs(text: str) -> Iterator[str]:
    """An input's values in a row, also without the line that counts them."""
    yield row(items(text[:1000]))
    _, newline, rest = text[:1000].partition("\n")
    if newline and len(items(rest)) > 1:
        yield row(items(rest))


def _run(said: str, asked: str, tests: Sequence[Test]) -> str | None:
    """A run of numbers of the hint that stands in one of the tests."""
    values = said.split()
    windows = (values[at : at + RUN] for at in range(len(values) - RUN + 1))
    runs = {row(window) for window in windows if _is_row_of_numbers(window)}
    if not runs:
        return None
    everything = " | ".join(row(items(text)) for test in tests for text in (test.input, test.output))
    found = next((run for run in sorted(runs) if run in everything and run not in asked), None)
    return f"a hidden test's values: {found.strip()}" if found else None


def _is_row_of_numbers(window: Sequence[str]) -> bool:
    return is_telling(window) and all(value.lstrip("-").replace(".", "").isdecimal() for value in window)


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", plain_characters(text))

"""Chains of sums: a start value, ten steps of + or - a two-digit number, everything modulo 100.

    question     Ops: +91 -86 -29 -39 -78 -19 -69 -37 -38 -16 Start: 52
    hint         after step 4 the value is 89.
    completion    43 57 28 89 11 92 23 86 48 32

The completion is the ten running values. A block of eight steps in a row, all of one sign, needs a carry
(or a borrow) nearly every time; the steps around it need none. The policy of this example forgets four
carries out of five (warm_start.py), so it practically never gets a whole chain right, however often it tries.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

STEPS = 10
HARD_BLOCK = 8
"""Steps in a row that need a carry or a borrow."""

_QUESTION = re.compile(rf"Ops:((?: [+-]\d\d){{{STEPS}}}) Start: (\d\d)")
_HINT = re.compile(r"after step (\d+) the value is (\d\d)\.")


class Operand(NamedTuple):
    """One step: its sign (1 or -1) and its amount, 0 to 99."""

    sign: int
    amount: int

    def __str__(self) -> str:
        return f"{'+' if self.sign > 0 else '-'}{self.amount:02d}"

    def apply(self, value: int) -> int:
        """The value after this step."""
        return (value + self.sign * self.amount) % 100

    def apply_forgetfully(self, value: int) -> int:
        """The value after this step when the carry or the borrow is forgotten."""
        tens = (value // 10 + self.sign * (self.amount // 10)) % 10
        return 10 * tens + (value + self.sign * self.amount) % 10

    def is_hard(self, value: int) -> bool:
        """Whether this step on this value needs a carry or a borrow."""
        return self.apply(value) != self.apply_forgetfully(value)


@dataclass(frozen=True)
class Question:
    """A start value and its steps."""

    start: int
    operands: tuple[Operand, ...]

    def __str__(self) -> str:
        return f"Ops: {' '.join(map(str, self.operands))} Start: {self.start:02d}"

    def values(self) -> tuple[int, ...]:
        """The right running values, one a step; the last is the answer."""
        values, value = [], self.start
        for operand in self.operands:
            value = operand.apply(value)
            values.append(value)
        return tuple(values)


class Hint(NamedTuple):
    """A running value given away: `value` after step `step`, counted from 1."""

    step: int
    value: int

    def __str__(self) -> str:
        return f"after step {self.step} the value is {self.value:02d}."


def parse_question(text: str) -> Question:
    """The question in a text. Raises ValueError when it is none of this task's."""
    found = _QUESTION.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"not a chain of {STEPS} steps: {text!r}")
    operands = (Operand(1 if word[0] == "+" else -1, int(word[1:])) for word in found[1].split())
    return Question(int(found[2]), tuple(operands))


def parse_hint(text: str) -> Hint | None:
    """The value that a hint gives away; None for a hint that gives none."""
    found = _HINT.fullmatch(text.strip())
    return Hint(int(found[1]), int(found[2])) if found else None


def parse_completion(text: str) -> list[int | None]:
    """The running values written in a completion, as many as there are; None where no value stands."""
    return [int(word) if re.fullmatch(r"\d\d", word) else None for word in text.split()]


def completion(values: Iterable[int]) -> str:
    """The text of a completion that states these values."""
    return "".join(f" {value:02d}" for value in values)


def own_errors(question: Question, values: Sequence[int | None], given: int = 0) -> list[int]:
    """Steps after step `given` whose value does not follow from the one before it, counted from 1.

    An error is charged to the step that made it: values computed rightly from a wrong one are no errors.
    A step without a value, or after one, is an error.
    """
    before = [question.start, *values]
    written = [*values, *[None] * (STEPS - len(values))]
    errors = []
    for step, operand in enumerate(question.operands[given:], start=given + 1):
        previous = before[step - 1] if step - 1 < len(before) else None
        if previous is None or written[step - 1] != operand.apply(previous):
            errors.append(step)
    return errors


def random_question(rng: Random, hard_block: int = HARD_BLOCK) -> Question:
    """A question with a block of hard steps at a random place.

    Uses only `rng.random()`, whose sequence Python keeps the same from version to version.
    """
    start, first = _below(rng, 100), _below(rng, STEPS - hard_block + 1)
    block_sign, value, operands = _sign(rng), start, []
    for step in range(STEPS):
        hard = first <= step < first + hard_block
        sign = block_sign if hard else _sign(rng)
        units = (_hard_units if hard else _easy_units)(rng, sign, value % 10)
        operands.append(Operand(sign, 10 * _below(rng, 10) + units))
        value = operands[-1].apply(value)
    return Question(start, tuple(operands))


def _hard_units(rng: Random, sign: int, units: int) -> int:
    """Units of an operand that needs a carry on `units`, mostly large so that the next step can need one too.

    0 takes no carry and 9 no borrow: there the units only lead away from it.
    """
    room = units if sign > 0 else 9 - units
    draw = rng.random()
    return 9 - int(draw**3 * room) if room else 6 + int(draw * 4)


def _easy_units(rng: Random, sign: int, units: int) -> int:
    return _below(rng, 10 - units if sign > 0 else units + 1)


def _below(rng: Random, bound: int) -> int:
    return int(rng.random() * bound)


def _sign(rng: Random) -> int:
    return 1 if rng.random() < 0.5 else -1

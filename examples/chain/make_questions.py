"""Write the questions of the demo: `python -m examples.chain.make_questions [DIRECTORY]`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

from examples.chain.task import Hint, Question, random_question

TRAIN, TEST = 3000, 500
HINTED = (4, 6, 8)
"""Steps whose values are prepared hints, for static.toml: the later, the less is left to do."""


def main(directory: Path) -> None:
    """Write train.jsonl and test.jsonl, which share no question; the same ones every time."""
    train, test = questions()
    write(directory / "train.jsonl", train, hinted=HINTED)
    write(directory / "test.jsonl", test)


def questions() -> tuple[list[Question], list[Question]]:
    """Different questions, drawn once and then cut in two."""
    rng = Random(1234)
    drawn: dict[Question, None] = {}
    while len(drawn) < TRAIN + TEST:
        drawn[random_question(rng)] = None
    return list(drawn)[:TRAIN], list(drawn)[TRAIN:]


def write(path: Path, questions: list[Question], hinted: Sequence[int] = ()) -> None:
    """One JSON object a line: the question's text, its answer and hints for a static guide, if any."""
    path.write_text("".join(json.dumps(_row(question, hinted)) + "\n" for question in questions))


def _row(question: Question, hinted: Sequence[int]) -> dict[str, str | list[str]]:
    values = question.values()
    row: dict[str, str | list[str]] = {"question": str(question), "answer": f"{values[-1]:02d}"}
    return row | {"hints": [str(Hint(step, values[step - 1])) for step in hinted]} if hinted else row


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)

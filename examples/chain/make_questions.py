"""Write the questions of the demo: `python -m examples.chain.make_questions [DIRECTORY]`."""

import json
import sys
from pathlib import Path
from random import Random

from examples.chain.task import Question, random_question

TRAIN, TEST = 3000, 500


def main(directory: Path) -> None:
    """Write train.jsonl and test.jsonl, which share no question; the same ones every time."""
    train, test = questions()
    write(directory / "train.jsonl", train)
    write(directory / "test.jsonl", test)


def questions() -> tuple[list[Question], list[Question]]:
    """Different questions, drawn once and then cut in two."""
    rng = Random(1234)
    drawn: dict[Question, None] = {}
    while len(drawn) < TRAIN + TEST:
        drawn[random_question(rng)] = None
    return list(drawn)[:TRAIN], list(drawn)[TRAIN:]


def write(path: Path, questions: list[Question]) -> None:
    """One JSON object a line: the question's text and its answer."""
    rows = ({"question": str(q), "answer": f"{q.values()[-1]:02d}"} for q in questions)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)

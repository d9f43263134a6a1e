"""Write 200 grade-school word problems to train on and 50 to measure on.

    python examples/own-data/make_questions.py DIRECTORY

Any questions will do that have a question and an answer column; these come from reasoning-gym's gsm_symbolic.
"""

import json
import sys
from pathlib import Path

TRAIN, TEST = 200, 50


def main(directory: Path) -> None:
    """Write train.jsonl and test.jsonl."""
    import reasoning_gym  # pyright: ignore[reportMissingImports]

    directory.mkdir(parents=True, exist_ok=True)
    problems = list(reasoning_gym.create_dataset("gsm_symbolic", size=TRAIN + TEST, seed=7))
    write(directory / "train.jsonl", problems[:TRAIN])
    write(directory / "test.jsonl", problems[TRAIN:])


def write(path: Path, problems: list[dict[str, str]]) -> None:
    """One JSON object a line: the question and the number that answers it."""
    rows = ({"question": p["question"], "answer": p["answer"]} for p in problems)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(f"{path}: {len(problems)} questions")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))

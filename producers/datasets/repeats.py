"""Questions that are asked more than once: within a dataset, and in two of them. Pure."""

import unicodedata
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from producers.datasets.base import Dataset, Keys, Repeats, Row


def key(question: str) -> int:
    """A number below 2**64 for what a question asks.

    Upper case, white space, closing punctuation and the composition of accents make no difference. Two
    other questions share a number by chance once in 2**64 pairs.
    """
    plain = " ".join(unicodedata.normalize("NFC", question).casefold().split()).rstrip(" .?!:")
    return number(plain)


def number(text: str) -> int:
    """A number below 2**64 for a text as it is."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def repeated(keys: Keys) -> tuple[np.ndarray, np.ndarray]:
    """The rows whose key occurred before, ascending, and for each the first row that has it."""
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    firsts = first[which]
    rows = np.flatnonzero(firsts != np.arange(len(keys)))
    return rows, firsts[rows]


def described(rows: Sequence[Row], answers: Keys, again: np.ndarray, firsts: np.ndarray) -> Repeats | None:
    """What to tell of the rows that repeat others, before any is dropped; None when there are none."""
    if not len(again):
        return None
    differing = int(np.count_nonzero(answers[again] != answers[firsts]))
    return Repeats(len(again), differing, (rows[int(again[0])].place, rows[int(firsts[0])].place))


def asked_in(dataset: Dataset, other: Dataset) -> list[int]:
    """The rows of a dataset whose question is also in the other one, ascending."""
    return np.flatnonzero(np.isin(dataset.keys, other.keys)).tolist()


def warnings(datasets: Sequence[Dataset], duplicates: str) -> list[str]:
    """What whoever trains on the first of the datasets should know of repeated questions."""
    found = [text for dataset in datasets if (text := _repetition(dataset, duplicates))]
    for heldout in datasets[1:]:
        if rows := asked_in(heldout, datasets[0]):
            place = heldout.rows[rows[0]].place
            found.append(
                f"data.heldout is {str(heldout.path)!r}: {len(rows)} of its {len(heldout.rows)} questions "
                f"are in data.train as well (the first: {place}). Accuracy on them is no measure of what was "
                "learned: take them out of one of the two."
            )
    return found


def _repetition(dataset: Dataset, duplicates: str) -> str | None:
    if dataset.repeats is None:
        return None
    questions, other_answer, (again, first) = dataset.repeats
    conflict = f", {other_answer} with another answer" if other_answer else ""
    advice = (
        "They are left out"
        if duplicates == "drop"
        else 'Each is a question of its own; set data.duplicates = "drop" to leave them out'
    )
    return (
        f"{dataset.path}: {questions} questions repeat earlier ones{conflict} (the first: {again} asks what "
        f"{first} asks). {advice}."
    )

"""Which failed attempts the agents are shown, and how much of each."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from mentor_stream.answers import final_answer
from mentor_stream.answers.programs import Test, read_tests
from schemas import FinishReason, Group, Query, Trajectory

REMARK_CHARACTERS = 1000
END_CHARACTERS = 200
TAIL_CHARACTERS = 4000
"""Where in an attempt its final answer is looked for: bounds the work."""
MOST_COMPARED = 256
"""Attempts of a group that are compared with each other: more tell nothing new, and all would wait for it."""


def unlike(group: Group, count: int) -> list[Trajectory]:
    """Up to `count` attempts as unlike each other as possible: four copies of one error teach nothing.

    Starts with one that ends as most do and adds, each time, the one that has least in common with those
    chosen, so that the first few of a longer list are those of a shorter one. To end alike counts more than
    any words in common: it is the same error.
    """
    texts = [attempt.text for attempt in group.trajectories]
    different = list(dict.fromkeys(texts))[:MOST_COMPARED]
    attempts = [group.trajectories[texts.index(text)] for text in different]
    ends = _endings(group, attempts)
    frequency = Counter(_endings(group, group.trajectories))
    words = [frozenset(attempt.text.split()) for attempt in attempts]

    def alike(one: int, other: int) -> float:
        return (ends[one] is not None and ends[one] == ends[other]) + _likeness(words[one], words[other])

    closest = dict.fromkeys(range(len(attempts)), 0.0)
    chosen = [max(closest, key=lambda n: frequency[ends[n]] if ends[n] is not None else 0)]
    while len(chosen) < min(count, len(attempts)):
        del closest[chosen[-1]]
        closest = {n: max(near, alike(n, chosen[-1])) for n, near in closest.items()}
        chosen.append(min(closest, key=lambda n: closest[n]))
    return [attempts[n] for n in chosen]


def endings(group: Group) -> list[str]:
    """How the attempts end, the most frequent first, such as `41 (5 of 8)`; those without an end left out."""
    counts = Counter(end for end in _endings(group, group.trajectories) if end is not None)
    total = len(group.trajectories)
    return [f"{trim(end, END_CHARACTERS)} ({count} of {total})" for end, count in counts.most_common()]


def shown(attempt: Trajectory, characters: int) -> str:
    """An attempt within a length, what the verifier said of it after it."""
    text = trim(attempt.text, characters)
    remark = trim(attempt.remark, min(REMARK_CHARACTERS, characters))
    return f"{text}\n[verifier: {remark}]" if remark else text


def typical(group: Group) -> Trajectory:
    """The attempt that stands for the others: what most of them do wrong, the policy will do again.

    Of those that end as most do, where any two end alike, the one whose words the others share most. An
    attempt that was cut off shows no mistake but its length, so it is only taken if all were.
    """
    tried = [t for t in group.trajectories if t.finish_reason is FinishReason.STOP] or group.trajectories
    tried = tried[:MOST_COMPARED]
    ends = _endings(group, tried)
    counts = Counter(end for end in ends if end is not None)
    frequent = max(counts, key=lambda end: counts[end], default="")
    words = [frozenset(attempt.text.split()) for attempt in tried]
    chosen = [n for n, end in enumerate(ends) if end == frequent or counts[frequent] < 2]
    return tried[max(chosen, key=lambda n: sum(_likeness(words[n], other) for other in words))]


def trim(text: str, characters: int) -> str:
    """The text within a length: cut out of the middle, keeping more of the end, where the answer is."""
    if len(text) <= characters:
        return text
    note = f"\n[{len(text) - characters} characters left out]\n"
    head = characters // 3
    return text[:head] + note + text[len(text) - (characters - head) :]


def _endings(group: Group, attempts: Sequence[Trajectory]) -> list[str | None]:
    """What each attempt came to: its final answer or, where programs are tested, the verifier's words."""
    if tests_of(group.query) is not None:
        return [attempt.remark or None for attempt in attempts]
    return [_final(attempt.text[-TAIL_CHARACTERS:]) for attempt in attempts]


def tests_of(query: Query) -> tuple[Test, ...] | None:
    """The tests of a code question; None of any other."""
    return read_tests(query.reference)


_final = lru_cache(maxsize=4096)(final_answer)  # every agent of a case wants it


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard similarity, 1 for two empty sets."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if one or other else 1.0

"""Which failed attempts the agents are shown, and how much of each."""

from collections import Counter

from mentor_stream.answers import final_answer
from schemas import FinishReason, Group, Trajectory


def select(group: Group, count: int) -> list[str]:
    """Up to `count` attempts as unlike each other as possible: four copies of one error teach nothing.

    Starts with the first and adds, each time, the one that has least in common with those chosen.
    """
    texts = list(dict.fromkeys(trajectory.text for trajectory in group.trajectories))
    words = [frozenset(text.split()) for text in texts]
    chosen = [0]
    while len(chosen) < min(count, len(texts)):
        rest = [i for i in range(len(texts)) if i not in chosen]
        chosen.append(min(rest, key=lambda i: max(_likeness(words[i], words[j]) for j in chosen)))
    return [_with_remark(group, texts[i]) for i in sorted(chosen)]


def typical(group: Group) -> Trajectory:
    """The attempt that stands for the others: what most of them do wrong, the policy will do again.

    Of those that give the most frequent wrong answer, where any two give the same, the one whose words the
    others share most. An attempt that was cut off shows no mistake but its length, so it is only taken if all
    were.
    """
    tried = [t for t in group.trajectories if t.finish_reason is FinishReason.STOP] or group.trajectories
    answers = [final_answer(trajectory.text) for trajectory in tried]
    counts = Counter(answer for answer in answers if answer is not None)
    frequent = max(counts, key=lambda answer: counts[answer], default="")
    words = [frozenset(trajectory.text.split()) for trajectory in tried]
    chosen = [n for n, answer in enumerate(answers) if answer == frequent or counts[frequent] < 2]
    return tried[max(chosen, key=lambda n: sum(_likeness(words[n], other) for other in words))]


def trim(text: str, characters: int) -> str:
    """The text within a length: cut out of the middle, keeping more of the end, where the answer is."""
    if len(text) <= characters:
        return text
    note = f"\n[{len(text) - characters} characters left out]\n"
    head = characters // 3
    return text[:head] + note + text[len(text) - (characters - head) :]


def _with_remark(group: Group, text: str) -> str:
    remark = next(t.remark for t in group.trajectories if t.text == text)
    return f"{text}\n[verifier: {remark}]" if remark else text


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard similarity, 1 for two empty sets."""
    return len(one & other) / len(one | other) if one | other else 1.0

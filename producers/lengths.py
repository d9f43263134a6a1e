"""Whether questions fit into the longest prompt: known before a run, not by every one being refused in it.

Counted is the user's turn alone, so a prompt is at least so long: its chat template adds to it.
"""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from mentor_stream.prompts import PromptConfig, user_text
from producers.datasets.base import Dataset


class Fit(NamedTuple):
    """What of a file's questions a run would refuse."""

    problem: str | None = None
    """None fits."""
    warning: str | None = None
    """Some do not."""


def fit(dataset: Dataset, policy: Path, prompt: PromptConfig, limit: int) -> Fit:
    """Of the first `limit` questions; nothing where the policy's tokenizer is not here to count with."""
    lengths = _lengths(policy, [user_text(prompt, row.question, None) for row in dataset.rows[:limit]])
    return judged(list(lengths), prompt.max_prompt_tokens, dataset.path)


def judged(lengths: Sequence[int], most: int, path: Path) -> Fit:
    """What prompts of at least these lengths mean."""
    longer = sum(length > most for length in lengths)
    if not longer:
        return Fit()
    setting = f"prompt.max_prompt_tokens is {most}"
    if longer == len(lengths):
        return Fit(
            problem=f"{setting}: none of the first {len(lengths)} questions of {path} fits, the shortest has "
            f"{min(lengths)} tokens. Set it to more, and rollout.max_new_tokens so that both fit the model."
        )
    return Fit(
        warning=f"{setting}: {longer} of the first {len(lengths)} questions of {path} are longer (up to "
        f"{max(lengths)} tokens) and will be refused"
    )


def _lengths(policy: Path, texts: Sequence[str]) -> Iterator[int]:
    place = policy / "tokenizer.json"
    if not (place.is_file() and find_spec("tokenizers")):
        return
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(place))
    except Exception:  # tokenizers raises no narrower one; the rollout's check tells of it
        return
    for text in texts:
        yield len(tokenizer.encode(text.strip(), add_special_tokens=False).ids)

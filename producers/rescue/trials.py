"""Failed questions as a rollout worker would ask them: with each hint, and with none. No I/O."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from mentor_stream.sampling import LengthLimits
from producers.evaluation.asking import Question
from producers.tokenizer import PolicyTokenizer
from schemas import Hint, Origin, Query


class Case(NamedTuple):
    """A question that collapsed, and what either run's guide said to it."""

    query: Query | None
    """Without a hint. None: it is on neither stream any more."""
    hints: tuple[Hint | None, ...]
    """Of each run; None: it gave none."""


class Trials(NamedTuple):
    """What is asked, each once, however many cases and runs it is of; by id, in an order of its own."""

    asked: dict[str, Question]
    refused: dict[str, str]
    """Why a prompt is not sampled: hint and question together are too long."""

    @property
    def digest(self) -> str:
        """Of all that is asked."""
        return blake2b("\n".join(self.asked).encode(), digest_size=16).hexdigest()


def trials(cases: Sequence[Case], tokenizer: PolicyTokenizer, limits: LengthLimits) -> Trials:
    """All that there is to ask."""
    wanted = {trial_id(query, hint): (query, hint) for query, hint in _ways(cases)}
    found = Trials({}, {})
    for name, (query, hint) in sorted(wanted.items()):
        prompt = tokenizer.prompt(query.question, hint.text if hint else None)
        if (why := limits.refusal(len(prompt))) is None:
            found.asked[name] = Question(_asked(query, hint, name), prompt)
        else:
            found.refused[name] = why
    return found


def trial_id(query: Query, hint: Hint | None) -> str:
    """The same for the same question, judged by the same reference, after the same words."""
    return _id([*_judged_by(query), hint and hint.text])


def question_id(query: Query) -> str:
    """The same for the same question, however often it failed."""
    return _id(_judged_by(query))


def _asked(query: Query, hint: Hint | None, name: str) -> Query:
    """As it is judged: a verifier may know of the hint."""
    if hint is None:
        return replace(query, query_id=name)
    return replace(query, query_id=name, origin=Origin.GUIDED, attempt=hint.round, hint=hint)


def _ways(cases: Sequence[Case]) -> Iterator[tuple[Query, Hint | None]]:
    """Every question without a hint and with those there are."""
    for query, hints in cases:
        if query is not None:
            yield query, None
            yield from ((query, hint) for hint in hints if hint is not None)


def _judged_by(query: Query) -> list[object]:
    return [query.question, query.reference, sorted(query.extra.items())]


def _id(parts: list[object]) -> str:
    return blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()

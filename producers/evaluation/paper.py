"""A suite put before one model: the questions that fit it, and which of them have no answers yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mentor_stream import snapshots
from mentor_stream.config import ConfigError, parse_section
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import LengthLimits, context_length, missing_model
from producers.datasets.base import Dataset
from producers.datasets.reading import read
from producers.evaluation import results
from producers.evaluation.asking import Question
from producers.evaluation.results import About, Asked, Results
from producers.evaluation.suite import Suite
from producers.tokenizer import PolicyTokenizer


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of a model, beside the suites."""

    model: Path
    engine: dict[str, Any]
    questions: int | None
    """The first so many; None: all."""
    questions_at: str | None
    """Where they are, if not where the suite says."""
    batch: int
    """Questions asked together, where the engine samples batches."""
    max_prompt_tokens: int
    workers: int
    """Processes that judge."""
    seed: int


@dataclass(frozen=True)
class Paper:
    """All questions of a suite, and the file of answers."""

    name: str
    suite: Suite
    tokenizer: PolicyTokenizer
    questions: Sequence[Question]
    kept: Results

    @property
    def known(self) -> set[str]:
        """The ids of those that the file has answers to."""
        return {asked.question_id for asked in self.kept.asked}

    @property
    def missing(self) -> bool:
        """Whether some have no answers."""
        known = self.known
        return any(question.query.query_id not in known for question in self.questions)

    @property
    def asked(self) -> list[Asked]:
        """The answers to its questions, in their order; of all that the file has."""
        found = {asked.question_id: asked for asked in self.kept.asked}
        ids = [question.query.query_id for question in self.questions]
        return [found[query_id] for query_id in ids if query_id in found]


def papers(request: Request, suites: Mapping[str, Suite], out: Path) -> list[Paper]:
    """The suites before the model. Close what they keep. Raises ConfigError."""
    model, context = _identity(request.model), context_length(request.model)
    return [_paper(request, name, suite, out, model, context) for name, suite in suites.items()]


def _paper(request: Request, name: str, suite: Suite, out: Path, model: str, context: int | None) -> Paper:
    data = suite.data(request.questions_at)
    dataset = read(data.train, data, f"--data of suite {name}")
    prompt = {
        "template": suite.template,
        "system": suite.system,
        "max_prompt_tokens": request.max_prompt_tokens,
    }
    tokenizer = PolicyTokenizer(request.model, parse_section(PromptConfig, prompt, f"suite {name}"))
    limits = LengthLimits(request.max_prompt_tokens, suite.max_new_tokens, context)
    questions = _fitting(dataset, tokenizer, limits, request.questions)
    kept = results.opened(out / f"{name}.jsonl", _about(request, name, suite, dataset, model))
    return Paper(name, suite, tokenizer, questions, kept)


def _fitting(
    dataset: Dataset, tokenizer: PolicyTokenizer, limits: LengthLimits, first: int | None
) -> list[Question]:
    """The questions that leave room for an answer. Raises ConfigError when none does."""
    kept: list[Question] = []
    lengths: list[int] = []
    for row in range(len(dataset.rows))[:first]:
        query = dataset.query(row, position=row, attempt=0)
        prompt = tokenizer.prompt(query.question)
        if limits.refusal(len(prompt)) is None:
            kept.append(Question(query, prompt))
        lengths.append(len(prompt))
    if not kept:
        raise ConfigError(f"{dataset.path}: no question fits. {_way_out(min(lengths), limits)}")
    return kept


def _way_out(shortest: int, limits: LengthLimits) -> str:
    """What would let the shortest question in."""
    has = f"The shortest has {shortest:,} prompt tokens"
    if shortest > limits.prompt:
        return f"{has}, --max-prompt-tokens is {limits.prompt:,}: raise it."
    if limits.context is None or shortest == 0:
        return f"{has}: look at the suite's template."
    if (room := limits.context - shortest) < 1:
        return (
            f"{has}, the model {limits.context:,} positions: take a model with more, or a shorter template."
        )
    return (
        f"{has} and may have {limits.completion:,} more, the model has {limits.context:,} positions: "
        f"set --max-new-tokens to {room:,} or less."
    )


def _identity(model: Path) -> str:
    if why := missing_model("MODEL", model):
        raise ConfigError(why)
    try:
        return snapshots.identity(model)
    except OSError as error:
        raise ConfigError(
            f"MODEL is {str(model)!r}: {error}. Give a Hugging Face model's directory."
        ) from error


def _about(request: Request, name: str, suite: Suite, dataset: Dataset, model: str) -> About:
    return About(
        suite=name,
        model=model,
        questions=dataset.digest,
        prompt={"template": suite.template, "system": suite.system},
        verifier=msgspec.json.encode(suite.verifier, order="sorted").decode(),
        samples=suite.samples,
        temperature=suite.temperature,
        top_p=suite.top_p,
        max_new_tokens=suite.max_new_tokens,
        seed=request.seed,
        engine=str(request.engine.get("kind")),
    )

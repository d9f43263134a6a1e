"""Asks a model the questions of a suite and keeps what the judge says of its answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import anyio
import msgspec

from mentor_stream import snapshots
from mentor_stream.config import Config, ConfigError, RunConfig, Section, parse_section
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import RolloutConfig, length_limits
from producers.datasets.base import Dataset
from producers.datasets.reading import read
from producers.engines.base import Sample
from producers.evaluation import results
from producers.evaluation.results import About, Answer, Asked, Results
from producers.evaluation.suite import Suite
from producers.examiner import Examiner, examining
from producers.judging.judge import RewardConfig
from producers.judging.verdicts import Score
from schemas import Query, Sampling

Progress = Callable[[int, int], None]
"""Told how many of how many questions have been asked."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of a model, beside the suite."""

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
class Question:
    """A question that fits the model, as it is asked."""

    query: Query
    prompt_ids: list[int]


async def examine(request: Request, name: str, suite: Suite, out: Path, progress: Progress) -> list[Asked]:
    """The answers to a suite's questions, in their order; what an earlier evaluation has is not asked again.

    Raises ConfigError and SnapshotError.
    """
    data = suite.data(request.questions_at)
    dataset = await anyio.to_thread.run_sync(read, data.train, data, f"suite {name}")
    about = await anyio.to_thread.run_sync(_about, request, name, suite, dataset)
    with closing(results.opened(out / f"{name}.jsonl", about)) as kept:
        known = {asked.question_id for asked in kept.asked}
        async with examining(_config(request, suite, out)) as examiner:
            asked = _questions(request, suite, dataset, examiner)
            missing = [question for question in asked if question.query.query_id not in known]
            progress(len(asked) - len(missing), len(asked))
            if missing:
                await examiner.engine.load(request.model, 0)
                await _Examination(request, suite, examiner, kept, len(asked), progress).ask(missing)
        found = {asked.question_id: asked for asked in kept.asked}
        return [found[question.query.query_id] for question in asked]


class _Examination:
    """A model being asked."""

    def __init__(
        self,
        request: Request,
        suite: Suite,
        examiner: Examiner,
        kept: Results,
        count: int,
        progress: Progress,
    ) -> None:
        self._request, self._suite, self._examiner = request, suite, examiner
        self._kept, self._count, self._progress = kept, count, progress
        self._lanes = anyio.Semaphore(examiner.engine.lanes.count)
        self._judged = anyio.Semaphore(2 * examiner.engine.lanes.count)

    async def ask(self, questions: Sequence[Question]) -> None:
        """Several at a time, as the engine wants it; the judge works beside it."""
        size = self._examiner.engine.lanes.prompts or self._request.batch
        async with anyio.create_task_group() as tasks:
            for some in _parts(questions, size):
                await self._judged.acquire()
                await self._lanes.acquire()
                tasks.start_soon(self._examine, some)

    async def _examine(self, questions: Sequence[Question]) -> None:
        suite = self._suite
        groups = await self._examiner.engine.generate(
            [question.prompt_ids for question in questions],
            samples=suite.samples,
            sampling=Sampling(temperature=suite.temperature, top_p=suite.top_p),
            max_new_tokens=suite.max_new_tokens,
            seed=_seed(self._request.seed, questions),
        )
        self._lanes.release()
        async with anyio.create_task_group() as tasks:
            for question, samples in zip(questions, groups, strict=True):
                tasks.start_soon(self._judge, question, samples)
        self._judged.release()

    async def _judge(self, question: Question, samples: Sequence[Sample]) -> None:
        texts, scores = await self._examiner.judged(question.query, samples)
        answers = [_answer(*one) for one in zip(samples, texts, scores, strict=True)]
        self._kept.add([Asked(question.query.query_id, question.query.question, answers)])
        self._progress(len(self._kept.asked), self._count)


def _answer(sample: Sample, text: str, score: Score) -> Answer:
    return Answer(score.verdict, score.remark, len(sample.completion_ids), sample.finish_reason.value, text)


def _questions(request: Request, suite: Suite, dataset: Dataset, examiner: Examiner) -> list[Question]:
    """Those that leave room for an answer. Raises ConfigError when none does."""
    config = _config(request, suite, Path())
    limits = length_limits(config)
    kept: list[Question] = []
    refusal = None
    for row in range(len(dataset.rows))[: request.questions]:
        query = dataset.query(row, position=row, attempt=0)
        prompt = examiner.tokenizer.prompt(query.question)
        if (why := limits.refusal(len(prompt))) is None:
            kept.append(Question(query, prompt))
        refusal = refusal or why
    if not kept:
        raise ConfigError(f"{dataset.path}: no question fits, {refusal}. Lower --max-new-tokens.")
    return kept


def _config(request: Request, suite: Suite, out: Path) -> Config:
    """As a run has it that samples these questions; it has no stream."""
    tables: Mapping[type[Section], Mapping[str, Any]] = {
        RunConfig: {"name": "eval", "directory": out, "broker": "none://", "policy": request.model},
        RolloutConfig: {
            "engine": request.engine,
            "group_size": max(2, suite.samples),
            "max_new_tokens": suite.max_new_tokens,
        },
        PromptConfig: {
            "template": suite.template,
            "system": suite.system,
            "max_prompt_tokens": request.max_prompt_tokens,
        },
        RewardConfig: {"verifier": suite.verifier, "workers": request.workers},
    }
    sections = {kind.table: parse_section(kind, table, "eval") for kind, table in tables.items()}
    return Config(path=Path(), sections=sections)


def _about(request: Request, name: str, suite: Suite, dataset: Dataset) -> About:
    try:
        model = snapshots.identity(request.model)
    except OSError as error:
        raise ConfigError(
            f"MODEL is {str(request.model)!r}: {error}. Give a Hugging Face model's directory."
        ) from error
    return About(
        suite=name,
        model=model,
        questions=dataset.digest,
        prompt={"template": suite.template, "system": suite.system},
        verifier=_text(suite.verifier),
        samples=suite.samples,
        temperature=suite.temperature,
        top_p=suite.top_p,
        max_new_tokens=suite.max_new_tokens,
        seed=request.seed,
        engine=request.engine["kind"],
    )


def _text(table: dict[str, Any]) -> str:
    return msgspec.json.encode(table, order="sorted").decode()


def _parts(questions: Sequence[Question], size: int) -> Iterator[Sequence[Question]]:
    return (questions[at : at + size] for at in range(0, len(questions), size))


def _seed(seed: int, questions: Sequence[Question]) -> int:
    """Of its own for each part, and the same in every evaluation that asks the same questions together."""
    ids = "\n".join(question.query.query_id for question in questions)
    return int.from_bytes(blake2b(f"{seed}\n{ids}".encode(), digest_size=8).digest()) >> 1

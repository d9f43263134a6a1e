"""Many questions put to one examiner: as many at once as its engine wants, judged beside the sampling.

Questions are sampled in parts that depend on nothing but their order, so that an engine whose samples follow
from a seed gives the same ones again, also after a stop: a part that was not finished is sampled whole.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import anyio

from producers import groups
from producers.engines.base import Sample
from producers.evaluation.results import Answer, Asked
from producers.examiner import Examiner
from producers.judging.verdicts import Score
from schemas import Query, Sampling

Keep = Callable[[Asked], None]
"""Told of each question that has its answers."""


@dataclass(frozen=True)
class Question:
    """A question as the model is asked it; the id of its query tells it from all others."""

    query: Query
    prompt_ids: list[int]


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How questions are asked."""

    samples: int
    sampling: Sampling
    max_new_tokens: int
    batch: int
    """Questions sampled together, where the engine samples batches."""
    seed: int


async def ask(
    examiner: Examiner, questions: Sequence[Question], known: Collection[str], manner: Manner, keep: Keep
) -> None:
    """Ask all questions but the `known` ones."""
    await _Asking(examiner, known, manner, keep).run(questions)


class _Asking:
    """Questions under way."""

    def __init__(self, examiner: Examiner, known: Collection[str], manner: Manner, keep: Keep) -> None:
        self._examiner, self._known, self._manner, self._keep = examiner, known, manner, keep
        self._lanes = anyio.Semaphore(examiner.engine.lanes.count)
        self._slots = anyio.Semaphore(2 * examiner.engine.lanes.count)

    async def run(self, questions: Sequence[Question]) -> None:
        size = self._examiner.engine.lanes.prompts or self._manner.batch
        async with anyio.create_task_group() as tasks:
            for at in range(0, len(questions), size):
                part = questions[at : at + size]
                if all(map(self._is_known, part)):
                    continue
                await self._slots.acquire()
                await self._lanes.acquire()
                tasks.start_soon(self._ask, part)

    async def _ask(self, part: Sequence[Question]) -> None:
        manner = self._manner
        answers = await self._examiner.engine.generate(
            [question.prompt_ids for question in part],
            samples=manner.samples,
            sampling=manner.sampling,
            max_new_tokens=manner.max_new_tokens,
            seed=groups.seed(manner.seed, [question.query.query_id for question in part]),
        )
        self._lanes.release()
        async with anyio.create_task_group() as tasks:
            for question, samples in zip(part, answers, strict=True):
                if not self._is_known(question):
                    tasks.start_soon(self._judge, question, samples)
        self._slots.release()

    async def _judge(self, question: Question, samples: Sequence[Sample]) -> None:
        texts, scores = await self._examiner.judged(question.query, samples)
        answers = [_answer(*one) for one in zip(samples, texts, scores, strict=True)]
        self._keep(Asked(question.query.query_id, question.query.question, answers))

    def _is_known(self, question: Question) -> bool:
        return question.query.query_id in self._known


def _answer(sample: Sample, text: str, score: Score) -> Answer:
    return Answer(score.verdict, score.remark, len(sample.completion_ids), sample.finish_reason.value, text)

"""Asks a model what has no answers yet, and keeps them with what the judge says of each."""

from collections.abc import Callable, Iterator, Sequence

import anyio

from mentor_stream import plugins
from mentor_stream.config import parse_section
from mentor_stream.sampling import context_length
from producers import groups
from producers.engines.base import Demand, Engine, Sample
from producers.evaluation.paper import Paper, Question, Request
from producers.evaluation.results import Answer, Asked
from producers.examiner import ENGINES, Examiner
from producers.judging import judge
from producers.judging.judge import RewardConfig
from producers.judging.verdicts import Score
from schemas import Sampling

Progress = Callable[[str, int, int], None]
"""Told, for each suite, how many of how many questions have been asked."""


async def examine(request: Request, papers: Sequence[Paper], progress: Progress) -> None:
    """Complete the papers, one after the other, with one engine. Raises ConfigError, SnapshotError."""
    for paper in papers:
        progress(paper.suite.title, len(paper.asked), len(paper.questions))
    open_ones = [paper for paper in papers if paper.missing]
    if not open_ones:
        return
    engine: Engine = plugins.build(ENGINES, request.engine, "--engine", _demand(request, open_ones))
    async with engine.running():
        await engine.load(request.model, 0)
        for paper in open_ones:
            table = {"verifier": paper.suite.verifier, "workers": request.workers}
            async with judge.running(parse_section(RewardConfig, table, f"suite {paper.name}")) as verifier:
                examiner = Examiner(engine, verifier, paper.tokenizer)
                await _Examination(request, paper, examiner, progress).ask()


class _Examination:
    """One paper being filled in."""

    def __init__(self, request: Request, paper: Paper, examiner: Examiner, progress: Progress) -> None:
        self._request, self._paper, self._examiner, self._progress = request, paper, examiner, progress
        self._done = len(paper.asked)
        self._lanes = anyio.Semaphore(examiner.engine.lanes.count)
        self._slots = anyio.Semaphore(2 * examiner.engine.lanes.count)

    async def ask(self) -> None:
        """As many questions at once as the engine wants; judging goes on beside it, no further behind."""
        size = self._examiner.engine.lanes.prompts or self._request.batch
        async with anyio.create_task_group() as tasks:
            for some in _parts(self._paper.missing, size):
                await self._slots.acquire()
                await self._lanes.acquire()
                tasks.start_soon(self._ask, some)

    async def _ask(self, questions: Sequence[Question]) -> None:
        suite = self._paper.suite
        answers = await self._examiner.engine.generate(
            [question.prompt_ids for question in questions],
            samples=suite.samples,
            sampling=Sampling(temperature=suite.temperature, top_p=suite.top_p),
            max_new_tokens=suite.max_new_tokens,
            seed=groups.seed(self._request.seed, [question.query.query_id for question in questions]),
        )
        self._lanes.release()
        async with anyio.create_task_group() as tasks:
            for question, samples in zip(questions, answers, strict=True):
                tasks.start_soon(self._judge, question, samples)
        self._slots.release()

    async def _judge(self, question: Question, samples: Sequence[Sample]) -> None:
        texts, scores = await self._examiner.judged(question.query, samples)
        answers = [_answer(*one) for one in zip(samples, texts, scores, strict=True)]
        self._paper.kept.add(Asked(question.query.query_id, question.query.question, answers))
        self._done += 1
        self._progress(self._paper.suite.title, self._done, len(self._paper.questions))


def _demand(request: Request, papers: Sequence[Paper]) -> Demand:
    """What the papers ask of an engine at most."""
    completion = max(paper.suite.max_new_tokens for paper in papers)
    context = context_length(request.model)
    room = request.max_prompt_tokens if context is None else context - completion
    return Demand(
        policy=request.model,
        samples=max(paper.suite.samples for paper in papers),
        prompt_tokens=max(1, min(request.max_prompt_tokens, room)),
        completion_tokens=completion,
    )


def _answer(sample: Sample, text: str, score: Score) -> Answer:
    return Answer(score.verdict, score.remark, len(sample.completion_ids), sample.finish_reason.value, text)


def _parts(questions: Sequence[Question], size: int) -> Iterator[Sequence[Question]]:
    return (questions[at : at + size] for at in range(0, len(questions), size))

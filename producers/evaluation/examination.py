"""Asks a model what has no answers yet, and keeps them with what the judge says of each."""

from collections.abc import Callable, Sequence
from itertools import count

from mentor_stream import plugins
from mentor_stream.config import parse_section
from mentor_stream.sampling import context_length
from producers.engines.base import Demand, Engine
from producers.evaluation.asking import Manner, ask
from producers.evaluation.paper import Paper, Request
from producers.evaluation.results import Asked
from producers.examiner import ENGINES, Examiner
from producers.judging import judge
from producers.judging.judge import RewardConfig
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
                await _fill(request, paper, Examiner(engine, verifier, paper.tokenizer), progress)


async def _fill(request: Request, paper: Paper, examiner: Examiner, progress: Progress) -> None:
    """Complete one paper."""
    suite, done = paper.suite, count(len(paper.asked) + 1)

    def keep(asked: Asked) -> None:
        paper.kept.add(asked)
        progress(suite.title, next(done), len(paper.questions))

    manner = Manner(
        samples=suite.samples,
        sampling=Sampling(temperature=suite.temperature, top_p=suite.top_p),
        max_new_tokens=suite.max_new_tokens,
        batch=request.batch,
        seed=request.seed,
    )
    await ask(examiner, paper.questions, paper.known, manner, keep)


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

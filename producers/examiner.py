"""Who asks the policy and judges its answers: what a rollout worker and the evaluator have in common."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mentor_stream import plugins
from mentor_stream.config import Config
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import RolloutConfig, length_limits
from producers.engines.base import Demand, Engine, Sample
from producers.judging import judge
from producers.judging.judge import Judge, RewardConfig
from producers.judging.verdicts import Score
from producers.tokenizer import PolicyTokenizer
from schemas import Query

ENGINES = "producers.engines"


@dataclass(frozen=True, slots=True)
class Examiner:
    """The engine samples, the tokenizer translates to and fro, the judge scores."""

    engine: Engine
    judge: Judge
    tokenizer: PolicyTokenizer

    async def judged(self, query: Query, samples: Sequence[Sample]) -> tuple[list[str], list[Score]]:
        """What each completion says, and what is to be thought of it."""
        texts = [self.tokenizer.text(sample.completion_ids) for sample in samples]
        return texts, await self.judge.score(query, texts)


@asynccontextmanager
async def examining(config: Config) -> AsyncGenerator[Examiner]:
    """An examiner as [rollout], [prompt] and [reward] describe it. Raises ConfigError, WorkerDied."""
    tokenizer = PolicyTokenizer(config.run.policy, config.of(PromptConfig))
    engine: Engine = plugins.build(ENGINES, config.of(RolloutConfig).engine, "rollout.engine", demand(config))
    async with judge.running(config.of(RewardConfig)) as verifier, engine.running():
        yield Examiner(engine, verifier, tokenizer)


def demand(config: Config) -> Demand:
    """What a run asks of its engine. Raises ConfigError when run.policy is no model's directory."""
    limits = length_limits(config)
    room = limits.prompt if limits.context is None else limits.context - limits.completion
    return Demand(
        policy=config.run.policy,
        samples=config.of(RolloutConfig).group_size,
        prompt_tokens=min(limits.prompt, room),
        completion_tokens=limits.completion,
    )

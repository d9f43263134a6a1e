"""Who asks the policy and judges its answers: what a rollout worker and the evaluator have in common."""

import tomllib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mentor_stream import plugins, snapshots
from mentor_stream.config import Config, ConfigError, RunConfig
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import LengthLimits
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
async def examining(
    config: Config, demand: Demand, table: Mapping[str, Any], setting: str = "rollout.engine"
) -> AsyncGenerator[Examiner]:
    """An examiner with the engine of this table, and as [prompt] and [reward] describe it.

    Raises ConfigError; WorkerDied when the verifier takes too long to be made.
    """
    tokenizer = PolicyTokenizer(config.run.policy, config.of(PromptConfig))
    engine: Engine = plugins.build(ENGINES, table, setting, demand)
    async with judge.running(config.of(RewardConfig)) as verifier, engine.running():
        yield Examiner(engine, verifier, tokenizer)


def demand(config: Config, limits: LengthLimits, samples: int) -> Demand:
    """What an engine is asked for when so many completions of these lengths are sampled of each prompt."""
    room = limits.prompt if limits.context is None else max(1, limits.context - limits.completion)
    return Demand(
        policy=config.run.policy,
        samples=samples,
        prompt_tokens=min(limits.prompt, room),
        completion_tokens=limits.completion,
        store=store(config.run),
        sender=config.run.weights_from,
    )


def store(run: RunConfig) -> str | None:
    """URL of the object storage that policies are in, if they are."""
    return run.snapshots if run.snapshots and snapshots.local(run.snapshots) is None else None


def wants_sending(table: Mapping[str, Any], setting: str) -> bool:
    """Whether the engine of this table, which passed its check, has its weights sent by the trainer."""
    plugin, options = plugins.configure(ENGINES, table, setting)
    is_sent: Any = getattr(plugin, "is_sent", None)
    return bool(is_sent and is_sent(options))


def engine_table(option: str) -> dict[str, Any]:
    """What `--engine` of a command says: a kind, or a table as a run's file has it. Raises ConfigError."""
    if not option.lstrip().startswith("{"):
        return {"kind": option}
    try:
        table: dict[str, Any] = tomllib.loads(f"engine = {option}")["engine"]
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"--engine is {option!r}: {error}. Give a kind, or a table such as '{{kind = \"vllm\"}}'."
        ) from error
    return table

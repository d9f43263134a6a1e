"""Judges whole groups through worker processes, so that no completion can take the rollout worker down."""

import logging
import math
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import anyio
import msgspec
from pydantic import Field

import schemas
from mentor_stream import workers
from mentor_stream.complaints import Complaints
from mentor_stream.config import ConfigError, Section
from producers.judging.verdicts import (
    Attempt,
    Exhausted,
    Failed,
    Lost,
    Score,
    may_be_to_blame,
    needs_another,
    settle,
)
from producers.judging.worker import Case, Report
from producers.rewards.base import clock_seconds_of

log = logging.getLogger(__name__)

CLOCK_FACTOR = 3
"""Seconds by the clock for each CPU second allowed: other processes want the cores, too."""
CLOCK_PER_CPU = 10
"""The same for a verifier that asks for more time: it mostly waits for others."""
CONTROL = "0"
"""The completion that stands for none at all where the reference alone is to be judged."""


class RewardConfig(Section):
    """Section [reward]: who judges the completions, and with what allowance."""

    table: ClassVar[str] = "reward"

    verifier: dict[str, Any] = Field(default_factory=lambda: {"kind": "math"})
    """`{kind = "math"}`, or code, choice, exact, weighted, or `module:object` of your own, with options."""
    workers: int = Field(2, ge=1)
    """Processes that judge at once."""
    timeout_seconds: int = Field(4, ge=1)
    """CPU seconds for judging the completions of one question; three times as many by the clock. A verifier
    that asks for more is given that by the clock, a tenth of it in CPU seconds, for each completion."""
    memory_megabytes: int = Field(1024, ge=128)
    """Address space of one worker process."""


class NoJudge(ConfigError, workers.WorkerDied):
    """A verifier that cannot be made."""


class Judge:
    """Scores completions. Safe to share between tasks."""

    def __init__(self, pool: workers.Pool, config: RewardConfig, *, slow: bool = False) -> None:
        self._pool, self._config, self._slow = pool, config, slow
        self._complaints = Complaints()

    async def score(self, query: schemas.Query, completions: Sequence[str]) -> list[Score]:
        """One score per completion; trouble of any kind is in the scores, never an exception, and in the log.

        All are judged in one request. Only if that brings the worker down is each judged alone, or if the
        verifier is slow: then several workers share them.
        """
        histories = [] if self._slow else [[attempt] for attempt in await self._try(query, completions)]
        if self._slow or any(needs_another(history) for history in histories):
            histories = await self._each_alone(query, completions)
        quick = any(map(may_be_to_blame, histories)) and await self._reference_is_quick(query)
        scores = [settle(history, reference_is_quick=quick) for history in histories]
        self._complain(query, scores)
        return scores

    def _complain(self, query: schemas.Query, scores: Sequence[Score]) -> None:
        """Groups without a verdict teach nothing, and would be missed by nobody."""
        for score in scores:
            if score.verdict is schemas.Verdict.UNSCORABLE:
                said = self._complaints.hear(score.remark, time.monotonic())
                if said:
                    log.warning("no verdict on an answer to %s: %s", query.query_id, said)

    async def unreadable(self, query: schemas.Query) -> str | None:
        """Why the query's reference cannot be judged against, or None when it can."""
        (attempt,) = await self._try(query, [CONTROL])
        if isinstance(attempt, Exhausted):
            return f"judging it alone used up the {attempt.resource} allowance"
        return attempt.reason if isinstance(attempt, Lost | Failed) else None

    async def _each_alone(self, query: schemas.Query, completions: Sequence[str]) -> list[list[Attempt]]:
        histories: list[list[Attempt]] = [[] for _ in completions]

        async def judge(completion: str, history: list[Attempt]) -> None:
            while needs_another(history):
                history.extend(await self._try(query, [completion], fresh=bool(history)))

        async with anyio.create_task_group() as tasks:
            for completion, history in zip(completions, histories, strict=True):
                tasks.start_soon(judge, completion, history)
        return histories

    async def _try(
        self, query: schemas.Query, completions: Sequence[str], *, fresh: bool = False
    ) -> list[Attempt]:
        """One request, one attempt per completion; what brings the worker down is every one's attempt."""
        try:
            reports = await self._ask(query, completions, fresh=fresh)
        except workers.WorkerExhausted as error:
            return [Exhausted(error.resource)] * len(completions)
        except workers.WorkerDied as error:
            return [Lost(str(error))] * len(completions)
        except workers.WorkerFailed as error:
            return [Failed(str(error))] * len(completions)
        return [report.judgement or Failed(report.trouble) for report in reports]

    async def _reference_is_quick(self, query: schemas.Query) -> bool:
        """Whether the reference alone is judged, without trouble and in a quarter of the allowance."""
        try:
            (report,) = await self._ask(query, [CONTROL])
        except workers.WorkerError:
            return False
        return report.judgement is not None and report.cpu_seconds <= self._config.timeout_seconds / 4

    async def _ask(
        self, query: schemas.Query, completions: Sequence[str], *, fresh: bool = False
    ) -> list[Report]:
        case = Case(query=schemas.encode(query), completions=list(completions))
        return msgspec.convert(await self._pool.call(case, fresh=fresh), list[Report])


@asynccontextmanager
async def running(config: RewardConfig) -> AsyncGenerator[Judge]:
    """A judge with its workers. Raises NoJudge when the verifier cannot be made at all, and WorkerDied when
    that takes too long."""
    asked = clock_seconds_of(config.verifier)
    try:
        async with workers.pool(
            "producers.judging.worker:make",
            config.verifier,
            size=config.workers,
            timeout=max(CLOCK_FACTOR * config.timeout_seconds, asked),
            cpu_seconds=max(config.timeout_seconds, math.ceil(asked / CLOCK_PER_CPU)),
            memory_megabytes=config.memory_megabytes,
        ) as pool:
            yield Judge(pool, config, slow=asked > 0)
    except workers.WorkerDied as error:  # at the start: later that is in the scores
        if isinstance(cause := error.__cause__, workers.WorkerExhausted) and cause.resource == "clock":
            raise
        raise NoJudge(
            f"reward.verifier is {config.verifier!r}: {error}. Mend it, name another, or give it more memory "
            f"(reward.memory_megabytes is {config.memory_megabytes})"
        ) from error

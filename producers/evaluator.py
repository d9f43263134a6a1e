"""The evaluator: accuracy on held-out questions, without hints, as releases appear.

It has an engine of its own at low priority: measuring takes no time of the trainer's.
"""

import logging
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import anyio
import anyio.to_thread
from pydantic import Field

from mentor_stream import plugins, releases, telemetry, topics
from mentor_stream.component import Component
from mentor_stream.config import Config, ConfigError, Section
from mentor_stream.process import work
from mentor_stream.prompts import PromptConfig
from mentor_stream.releases import News
from mentor_stream.sampling import LengthLimits, RolloutConfig, length_limits
from mentor_stream.snapshots import SnapshotError
from mentor_stream.stream import Stream, opened
from mentor_stream.topics import TopicsConfig
from producers import policy
from producers.datasets import reading
from producers.datasets.base import DataConfig, Dataset
from producers.examiner import ENGINES, Examiner, demand, examining, wants_sending
from producers.judging.judge import RewardConfig
from producers.schedule import Schedule
from producers.tokenizer import PolicyTokenizer
from schemas import PolicyRelease, Query, Sampling, Verdict

log = logging.getLogger(__name__)

NICENESS = 10
"""Added to the process's own: rollout and trainer go first."""


class EvaluateConfig(Section):
    """Section [evaluate]. The verifier is that of [reward]."""

    table: ClassVar[str] = "evaluate"

    every: int = Field(10, ge=1)
    """Evaluate versions that this divides, besides the first and the final one."""
    questions: int | None = Field(None, ge=1)
    """Use the first so many held-out questions; left out, all."""
    samples: int = Field(1, ge=1)
    """Completions of each question; accuracy is over all of them."""
    temperature: float = Field(0.0, ge=0)
    """0 is greedy."""
    max_new_tokens: int | None = Field(None, ge=1)
    """Longest completion; left out, that of [rollout]."""
    engine: dict[str, Any] | None = None
    """What samples: `kind` and its options; left out, those of [rollout]."""


@dataclass(frozen=True, slots=True)
class Question:
    """A held-out query and its prompt ids, without a hint."""

    query: Query
    prompt_ids: list[int]


class Evaluator:
    """One evaluation process at work."""

    def __init__(
        self, config: Config, stream: Stream, examiner: Examiner, questions: Sequence[Question]
    ) -> None:
        self._config, self._run = config.of(EvaluateConfig), config.run
        self._limits = own_limits(config)
        self._stream, self._examiner, self._questions = stream, examiner, questions
        self._news = News()

    async def work(self) -> None:
        """Evaluate until the final release has its figure."""
        schedule = Schedule(self._config.every, await self._evaluated_before())

        def take(release: PolicyRelease) -> None:
            schedule.note(release)
            self._news.tell()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(telemetry.watch, self._stream)
            tasks.start_soon(telemetry.beat, self._stream)
            await tasks.start(releases.follow, self._stream, take, "first")
            while not schedule.over:
                if release := schedule.next():
                    await self._evaluate(schedule, release)
                else:
                    await self._news.wait()
            tasks.cancel_scope.cancel()

    async def _evaluated_before(self) -> set[int]:
        """Versions that have their figure, also from earlier lives of this process."""
        async with self._stream.reader(
            topics.METRICS, start="earliest", follow=False, on_gap="earliest"
        ) as metrics:
            found = [d.record async for d in metrics if d.record.component == self._stream.component]
        return {metric.policy_version for metric in found if metric.policy_version is not None}

    async def _evaluate(self, schedule: Schedule, release: PolicyRelease) -> None:
        """Publish the release's figure. Raises SnapshotError when the final one is gone or damaged."""
        try:
            await policy.install(self._examiner.engine, release, self._run.policy)
        except SnapshotError as error:
            if schedule.is_final(release):
                raise
            log.warning("policy %d is not evaluated: %s", release.policy_version, error)
            schedule.left_out(release)
            return
        began = time.monotonic()
        values = figures(await self._verdicts())
        values |= {
            "generated_tokens": float(release.consumed.tokens),
            "evaluation_seconds": time.monotonic() - began,
        }
        await telemetry.report(self._stream, values, policy_version=release.policy_version)
        schedule.evaluated(release)

    async def _verdicts(self) -> list[list[Verdict]]:
        """What the judge says of each question's completions."""
        groups = await self._examiner.engine.generate(
            [question.prompt_ids for question in self._questions],
            samples=self._config.samples,
            sampling=Sampling(temperature=self._config.temperature),
            max_new_tokens=self._limits.completion,
            seed=self._run.seed,
        )
        verdicts: list[list[Verdict]] = [[] for _ in groups]

        async def score(place: int) -> None:
            _, scores = await self._examiner.judged(self._questions[place].query, groups[place])
            verdicts[place] = [score.verdict for score in scores]

        async with anyio.create_task_group() as tasks:
            for place in range(len(groups)):
                tasks.start_soon(score, place)
        return verdicts


def figures(verdicts: Sequence[Sequence[Verdict]]) -> dict[str, float]:
    """Accuracy over the completions that could be judged, and how many questions have such a one.

    A judge in trouble says nothing of the policy: without any judged completion there is no accuracy.
    """
    judged = [[v for v in row if v in (Verdict.RIGHT, Verdict.WRONG)] for row in verdicts]
    flat = [verdict for row in judged for verdict in row]
    values = {
        "heldout_questions": float(sum(map(bool, judged))),
        "heldout_unscorable": float(sum(map(len, verdicts)) - len(flat)),
    }
    return values | ({"heldout_accuracy": flat.count(Verdict.RIGHT) / len(flat)} if flat else {})


def own_limits(config: Config) -> LengthLimits:
    """Those of rollout workers, but for the completions where [evaluate] says otherwise."""
    own, limits = config.of(EvaluateConfig).max_new_tokens, length_limits(config)
    return limits if own is None else replace(limits, completion=own)


def engine(config: Config) -> tuple[dict[str, Any], str]:
    """The table of the engine, and the setting that it is."""
    own = config.of(EvaluateConfig).engine
    return (config.of(RolloutConfig).engine, "rollout.engine") if own is None else (own, "evaluate.engine")


def questions(config: Config, dataset: Dataset, tokenizer: PolicyTokenizer) -> list[Question]:
    """The questions to ask, less those that are too long. Raises ConfigError when that leaves none."""
    rows = range(len(dataset.rows))[: config.of(EvaluateConfig).questions]
    queries = [dataset.query(row, position=row, attempt=0) for row in rows]
    asked = [Question(query, tokenizer.prompt(query.question)) for query in queries]
    limits = own_limits(config)
    refusals = [limits.refusal(len(question.prompt_ids)) for question in asked]
    kept = [question for question, refusal in zip(asked, refusals, strict=True) if refusal is None]
    if not kept:
        raise ConfigError(f"data.heldout is {str(dataset.path)!r}: no question fits, {refusals[0]}")
    if left := len(asked) - len(kept):
        log.warning("%d of %d held-out questions are too long and left out", left, len(asked))
    return kept


async def _main(config: Config) -> None:
    data = config.of(DataConfig)
    if data.heldout is None:
        log.warning("data.heldout is not set: there is nothing to evaluate")
        return
    dataset = await anyio.to_thread.run_sync(reading.read, data.heldout, data, "data.heldout")
    table, setting = engine(config)
    wanted = demand(config, own_limits(config), config.of(EvaluateConfig).samples)
    async with examining(config, wanted, table, setting) as examiner:
        asked = questions(config, dataset, examiner.tokenizer)
        async with opened(config, "evaluator") as stream:
            await Evaluator(config, stream, examiner, asked).work()


def run(config: Config) -> None:
    """The process."""
    os.nice(NICENESS)
    work("evaluator", _main, config)


def check(config: Config) -> Iterable[str]:
    """Problems that single settings do not show."""
    section = config.of(EvaluateConfig)
    yield from policy.check(config.run)
    if section.samples > 1 and section.temperature == 0:
        yield (
            f"evaluate.samples is {section.samples}, but greedy completions are all alike. Set it to 1, or "
            "evaluate.temperature above 0."
        )
    if config.of(DataConfig).heldout is not None:
        yield from _engine_problems(config)


def _engine_problems(config: Config) -> Iterable[str]:
    table, setting = engine(config)
    if problems := plugins.check(ENGINES, table, setting):
        yield from problems
    elif setting == "evaluate.engine" and wants_sending(table, setting):
        yield (
            f"evaluate.engine.weights is {table['weights']!r}: the trainer sends none any more once it is "
            "done, and keeps no policy until the evaluator is. Set it to 'snapshot'."
        )
    elif setting == "rollout.engine" and getattr(
        plugins.load(ENGINES, table["kind"], setting), "EXCLUSIVE", False
    ):
        yield (
            f"evaluate.engine is left out, and rollout.engine.kind is {table['kind']!r}, whose servers are "
            "the rollout worker's alone: on its policy. Give the evaluator an engine of its own, such "
            'as { kind = "transformers" }, or leave out data.heldout.'
        )


component = Component(
    name="evaluator",
    sections=(EvaluateConfig, DataConfig, PromptConfig, RolloutConfig, RewardConfig, TopicsConfig),
    run=run,
    check=check,
)

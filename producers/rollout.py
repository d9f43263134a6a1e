"""The rollout worker: queries in, scored groups out, always with the newest policy.

As many batches are sampled side by side as the engine has lanes for: one batch of many queries, or many of
one. Sampling overlaps with judging what was sampled before. A query is done() only after its group is
durable, so a crash at any point repeats work under the same group ids and loses none.
"""

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import anyio

import schemas
from mentor_stream import plugins, telemetry, topics
from mentor_stream.complaints import Complaints
from mentor_stream.component import Component
from mentor_stream.config import Config, ConfigError
from mentor_stream.metrics.catalogue.rollout import JUDGING_SECONDS, SAMPLING_SECONDS
from mentor_stream.metrics.health import OWN as HEALTH
from mentor_stream.metrics.health import POLICY
from mentor_stream.metrics.readings import OWN as READINGS
from mentor_stream.process import work
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import RolloutConfig, context_length, length_limits
from mentor_stream.stream import Delivery, Stream, opened
from mentor_stream.supervisor.config import SupervisorConfig
from mentor_stream.topics import TopicsConfig
from producers import groups, policy
from producers.batches import batched
from producers.collapse import collapsed
from producers.engines.base import Sample, unsent
from producers.examiner import ENGINES, Examiner, demand, examining, wants_sending
from producers.groups import Asked
from producers.judging.judge import RewardConfig
from producers.policy import NewestPolicy
from producers.tally import Tally
from producers.tokenizer import check_tokenizer
from schemas import Group, Query

BATCHES = 3
"""In flight at most for each lane: one is sampled while two are judged and published."""
REPORT_SECONDS = 1.0
ID_BYTES = LOGPROB_BYTES = 4

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asking:
    """A query in hand, as the policy is asked it, or why it is not."""

    delivery: Delivery[Query]
    asked: Asked
    refusal: str | None


class RolloutWorker:
    """One rollout process at work."""

    def __init__(self, config: Config, stream: Stream, examiner: Examiner) -> None:
        self._config, self._run = config.of(RolloutConfig), config.run
        self._stream, self._examiner = stream, examiner
        self._limits = length_limits(config)
        self._policy = NewestPolicy(stream, examiner.engine)
        lanes, most = examiner.engine.lanes, self._config.batch_queries
        self._size = most if lanes.prompts is None else min(most, lanes.prompts)
        self._lanes = anyio.Semaphore(lanes.count)
        self._slots = anyio.Semaphore(BATCHES * lanes.count)
        self.tally = Tally()
        """What it has done so far."""
        self._complaints = Complaints()

    async def work(self) -> None:
        """Work until cancelled."""
        wanted = (topics.GUIDED, topics.QUERIES)
        prefetch = self._slots.value * self._size + self._config.batch_queries
        async with (
            telemetry.last(self._stream, self._at_rest, self._version),
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(self._policy.follow)
            tasks.start_soon(self._report)
            tasks.start_soon(telemetry.watch, self._stream, *wanted)
            await self._policy.refresh()  # before joining: queries are not taken from workers that can sample
            HEALTH.has(POLICY)
            log.info("sampling, first with policy %d", self._examiner.engine.version)
            async with (
                self._stream.consumer(*wanted, prefetch=prefetch) as deliveries,
                batched(deliveries) as batches,
                anyio.create_task_group() as sampling,
            ):
                while True:
                    await self._slots.acquire()  # before queries are taken: back-pressure
                    await self._lanes.acquire()
                    sampling.start_soon(self._work_off, await batches.take(self._size))

    async def _work_off(self, taken: Sequence[Delivery[Query]]) -> None:
        self.tally.in_flight += len(taken)
        batch = [self._asking(delivery) for delivery in taken]
        samples = await self._sample(batch)
        sampled_at = time.time()
        self._lanes.release()
        async with anyio.create_task_group() as tasks:
            for asking, some in zip(batch, samples, strict=True):
                tasks.start_soon(self._resolve, asking, some, sampled_at)
        self._slots.release()

    async def _sample(self, batch: Sequence[Asking]) -> list[list[Sample]]:
        """The completions of each; none of a query that is refused."""
        asked = [asking.asked for asking in batch if asking.refusal is None]
        await self._policy.refresh()
        with READINGS.timing(SAMPLING_SECONDS):
            samples = await self._examiner.engine.generate(
                [a.prompt_ids for a in asked],
                samples=self._config.group_size,
                sampling=self._config.sampling,
                max_new_tokens=self._limits.completion,
                seed=groups.seed(self._run.seed, [a.group_id for a in asked]),
            )
        found = iter(samples)
        return [next(found) if asking.refusal is None else [] for asking in batch]

    def _asking(self, delivery: Delivery[Query]) -> Asking:
        query, tokenizer = delivery.record, self._examiner.tokenizer
        hint = query.hint.text if query.hint else None
        asked = Asked(
            query=query,
            group_id=schemas.group_id(self._run.name, query.query_id, query.attempt),
            prompt_ids=tokenizer.prompt(query.question, hint),
            bare_prompt_ids=tokenizer.prompt(query.question) if hint is not None else None,
        )
        return Asking(delivery, asked, self._limits.refusal(len(asked.prompt_ids)))

    async def _resolve(self, asking: Asking, samples: Sequence[Sample], sampled_at: float) -> None:
        """Publish the query's group, then release the query."""
        group = await self._group(asking, samples, sampled_at)
        taught_nothing = collapsed([t.verdict for t in group.trajectories])
        await self._stream.publish(topics.COLLAPSED if taught_nothing else topics.GROUPS, group)
        self.tally.count(group, collapsed=taught_nothing)
        self.tally.in_flight -= 1
        asking.delivery.done()

    async def _group(self, asking: Asking, samples: Sequence[Sample], sampled_at: float) -> Group:
        asked, config, worker = asking.asked, self._config, telemetry.INSTANCE
        if (why := asking.refusal) is not None:
            if said := self._complaints.hear(why, time.monotonic()):
                log.warning("query %s is not sampled: %s", asked.query.query_id, said)
            return groups.refused(
                asked, config.group_size, why, config.sampling, worker=worker, at=sampled_at
            )
        with READINGS.timing(JUDGING_SECONDS):
            texts, scores = await self._examiner.judged(asked.query, samples)
        return groups.scored(asked, samples, texts, scores, config.sampling, worker=worker, at=sampled_at)

    async def _report(self) -> None:
        while True:
            await anyio.sleep(REPORT_SECONDS)
            await telemetry.offer(self._stream, self._values(), policy_version=self._version())

    def _values(self) -> dict[str, float]:
        return self.tally.values(time.monotonic())

    def _at_rest(self) -> dict[str, float]:
        return self._values() | {"tokens_per_second": 0.0, "in_flight": 0}

    def _version(self) -> int | None:
        return self._examiner.engine.version


async def _main(config: Config) -> None:
    section = config.of(RolloutConfig)
    wanted = demand(config, length_limits(config), section.group_size)
    HEALTH.needs(POLICY)
    async with examining(config, wanted, section.engine) as examiner, opened(config, "rollout") as stream:
        await RolloutWorker(config, stream, examiner).work()


def check(config: Config) -> Iterable[str]:
    """Problems that single settings do not show."""
    section = config.of(RolloutConfig)
    yield from _oversized_groups(config)
    yield from _engine_problems(config)
    yield from policy.check(config.run)
    try:
        context = context_length(config.run.policy)
        check_tokenizer(config.run.policy)
    except ConfigError as error:
        yield str(error)
        return
    if context is not None and section.max_new_tokens >= context:
        yield (
            f"rollout.max_new_tokens is {section.max_new_tokens}: the model of run.policy has {context} "
            "positions for prompt and completion together. Set it lower."
        )


def _engine_problems(config: Config) -> Iterable[str]:
    table = config.of(RolloutConfig).engine
    problems = plugins.check(ENGINES, table, "rollout.engine")
    yield from problems
    if not problems and wants_sending(table, "rollout.engine") and config.run.weights_from is None:
        yield unsent("rollout.engine", table["weights"])
    supervisor = config.sections.get(SupervisorConfig.table)
    workers = supervisor.rollout_workers if isinstance(supervisor, SupervisorConfig) else 1
    if (
        workers > 1
        and not problems
        and getattr(plugins.load(ENGINES, table["kind"], "rollout.engine"), "EXCLUSIVE", False)
    ):
        yield (
            f"supervisor.rollout_workers is {workers}, but rollout.engine.kind is {table['kind']!r}, whose "
            "servers are for one worker alone. Set it to 1: one worker keeps many servers busy."
        )


def _oversized_groups(config: Config) -> Iterable[str]:
    """Groups of full length that the topics would refuse for their token ids and log-probs alone."""
    section = config.of(RolloutConfig)
    size = section.group_size * section.max_new_tokens * (ID_BYTES + LOGPROB_BYTES)
    for topic in (topics.GROUPS, topics.COLLAPSED):
        if (most := config.of(TopicsConfig).max_bytes(topic)) < size:
            yield (
                f"topics.{topic.table}.max_record_bytes is {most}: {section.group_size} completions of "
                f"rollout.max_new_tokens = {section.max_new_tokens} take {size} bytes and their text. "
                "Raise it, or lower rollout.group_size or rollout.max_new_tokens."
            )


component = Component(
    name="rollout",
    sections=(RolloutConfig, PromptConfig, RewardConfig, TopicsConfig),
    run=partial(work, "rollout", _main),
    check=check,
)

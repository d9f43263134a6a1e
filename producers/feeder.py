"""Feeds questions to the stream: in a seeded order, no faster than the trainer's staleness bound allows.

Nothing is kept on disk: a restarted feeder reads the end of what it fed and goes on from there.
"""

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import ClassVar

import anyio
import anyio.to_thread
from pydantic import Field

import schemas
from mentor_stream import claims, releases, stream, topics
from mentor_stream.component import Component
from mentor_stream.config import Config, ConfigError, RunConfig, Section
from mentor_stream.process import work
from mentor_stream.prompts import PromptConfig
from mentor_stream.releases import News
from mentor_stream.stream import Stream
from mentor_stream.telemetry import last, offer, watch
from mentor_stream.topics import TopicsConfig
from producers import lengths, references
from producers.admission import Admission
from producers.datasets import presets, repeats
from producers.datasets.base import DataConfig, Dataset
from producers.datasets.order import row_at
from producers.datasets.reading import read
from producers.judging.judge import RewardConfig
from producers.progress import TAIL, WINDOW, progress

REPORT_SECONDS = 1.0

log = logging.getLogger(__name__)


class FeederConfig(Section):
    """Section [feeder]."""

    table: ClassVar[str] = "feeder"

    checked_references: int = Field(300, ge=0)
    """References of each question file that `mentor-stream check` puts before the verifier."""


class Feeder:
    """Feeds one dataset. `run` returns when its epochs are fed.

    Until then it stays, also when the run is over: a trainer with a later end may go on with it.
    """

    def __init__(self, stream: Stream, dataset: Dataset, run: RunConfig, epochs: int | None) -> None:
        self._stream, self._dataset, self._run = stream, dataset, run
        self._total = None if epochs is None else epochs * len(dataset.rows)
        self._admission = self._admit(0, schemas.Consumed())
        self._over = False
        self._fed = 0
        self._told: dict[str, float] = {}
        self._news = News()

    async def run(self) -> None:
        """Close the gaps that a crash left, then feed as admission allows."""
        gaps, self._fed = progress(await self._tail())
        await self._feed(gaps)
        async with (
            last(self._stream, self._untold, lambda: self._admission.version),
            anyio.create_task_group() as beside,
        ):
            beside.start_soon(releases.follow, self._stream, self._take)
            beside.start_soon(self._report)
            beside.start_soon(watch, self._stream)
            while self._total is None or self._fed < self._total:
                await self._feed_window()
            beside.cancel_scope.cancel()
        log.info("all %d questions of data.epochs are fed", self._fed)

    async def _feed_window(self) -> None:
        """Feed what there is room for, or wait for the next release."""
        left = WINDOW if self._total is None else self._total - self._fed
        size = 0 if self._over else min(WINDOW, left, self._admission.room(self._fed))
        if size > 0:
            await self._feed(range(self._fed, self._fed + size))
            self._fed += size
        else:
            await self._news.wait()

    async def _feed(self, positions: Sequence[int]) -> None:
        """Publish these positions; on return all of them are durable, which progress.py relies on."""
        await self._stream.publish_all(topics.QUERIES, map(self._query, positions))

    def _query(self, position: int) -> schemas.Query:
        epoch, row = row_at(position, rows=len(self._dataset.rows), seed=self._run.seed)
        return self._dataset.query(row, position=position, attempt=epoch)

    async def _tail(self) -> list[int]:
        """Positions at the end of every partition.

        Raises ConfigError when they are not this dataset's, or when retention has taken them all.
        """
        await self._check_retention()
        start = await self._stream.tail(topics.QUERIES, TAIL)
        async with self._stream.reader(topics.QUERIES, start=start, follow=False, on_gap="earliest") as fed:
            return [self._own(delivery.record) async for delivery in fed]

    async def _check_retention(self) -> None:
        """An empty topic that was written to must not look like a run that was never fed."""
        kept = (await self._stream.bounds(topics.QUERIES)).values()
        fed = sum(bounds.next for bounds in kept)
        if fed and all(bounds.first == bounds.next for bounds in kept):
            raise ConfigError(
                f"topics.queries: retention took all {fed} queries that run {self._run.name!r} was fed, so "
                "where to go on is not known. Set another run.name and run.directory, run.policy to the "
                "newest snapshot, and topics.queries.retention_hours and .retention_bytes to keep more."
            )

    def _own(self, query: schemas.Query) -> int:
        if query.query_id != self._query(query.position).query_id:
            raise ConfigError(
                f"data.train is {str(self._dataset.path)!r}, content digest {self._dataset.digest}: not what "
                f"run {self._run.name!r} was fed so far (position {query.position} differs). Its questions, "
                "another setting in [data] or run.seed has changed: undo that, or set another run.name and "
                "run.directory, and run.policy to the newest snapshot to go on from there."
            )
        return query.position

    def _take(self, release: schemas.PolicyRelease) -> None:
        self._admission = self._admit(release.policy_version, release.consumed)
        if release.final and not self._over:
            log.info(
                "the run is over at version %d: waiting in case its trainer goes on", release.policy_version
            )
        self._over = release.final  # until a resumed trainer publishes again
        self._news.tell()

    def _admit(self, version: int, consumed: schemas.Consumed) -> Admission:
        return Admission(version, consumed, self._run.batch_groups, self._run.max_staleness)

    async def _report(self) -> None:
        """Once a second while anything moves."""
        while True:
            values, version = self._untold(), self._admission.version
            if values and await offer(self._stream, values, policy_version=version):
                self._told = values
            await anyio.sleep(REPORT_SECONDS)

    def _untold(self) -> dict[str, float]:
        """The metrics, if they have moved."""
        values = self._metrics()
        return values if values != self._told else {}

    def _metrics(self) -> dict[str, float]:
        outstanding, capacity = self._admission.outstanding(self._fed), self._admission.capacity
        return {"fed": self._fed, "outstanding": outstanding, "capacity": capacity}


async def _main(config: Config) -> None:
    run, data = config.run, config.of(DataConfig)
    dataset = await anyio.to_thread.run_sync(read, data.train, data, "data.train")
    async with stream.opened(config, "feeder") as connected, claims.only(connected, config):
        await Feeder(connected, dataset, run, data.epochs).run()


def check(config: Config) -> Iterable[str]:
    """A run without an end, question files that cannot be read, references that the verifier cannot."""
    data = config.of(DataConfig)
    if data.epochs is None and config.run.max_tokens is None and config.run.max_versions is None:
        yield "run.max_tokens, run.max_versions and data.epochs are missing: no end. Set one of them."
    files = {"data.train": data.train} | ({"data.heldout": data.heldout} if data.heldout else {})
    datasets: dict[str, Dataset] = {}
    for setting, path in files.items():
        yield from _verifier_problems(config, setting)
        try:
            datasets[setting] = read(path, data, setting)
        except ConfigError as error:
            yield str(error)
    if "data.train" in datasets:
        for warning in repeats.warnings(list(datasets.values()), data.duplicates):
            log.warning("%s", warning)
    limit = config.of(FeederConfig).checked_references
    yield from _length_problems(config, datasets.values(), limit)
    yield from references.problems(list(datasets.values()), config.of(RewardConfig), limit)


def _length_problems(config: Config, datasets: Iterable[Dataset], limit: int) -> Iterable[str]:
    prompt = config.sections.get(PromptConfig.table)
    if isinstance(prompt, PromptConfig):  # or it is malformed, which is told
        for dataset in datasets:
            problem, warning = lengths.fit(dataset, config.run.policy, prompt, limit)
            if warning:
                log.warning("%s", warning)
            if problem:
                yield problem


def _verifier_problems(config: Config, setting: str) -> Iterable[str]:
    """A preset whose references the verifier does not read. One's own verifier may read anything."""
    name = config.of(DataConfig).preset_of(setting)
    kind = config.of(RewardConfig).verifier.get("kind")
    wanted = presets.named(name).VERIFIER if name else kind
    if kind in ("math", "code", "choice") and kind != wanted:
        yield (
            f"reward.verifier.kind is {kind!r}, and the references of {setting} (preset {name!r}) are for "
            f'{wanted!r}. Set reward.verifier = {{ kind = "{wanted}" }}.'
        )


component = Component(
    name="feeder",
    sections=(DataConfig, FeederConfig, RewardConfig, TopicsConfig),
    run=partial(work, "feeder", _main),
    check=check,
)

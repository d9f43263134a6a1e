"""Groups off the stream and into micro-batches, while nothing learns: MB a second, beside decoding alone.

All that the trainer does with a group before the model sees it: read, decoded, validated, booked, cut, made
into rows, packed and laid out as tensors.
"""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple
from uuid import uuid4

import anyio
import msgspec
from kafka import KafkaAdminClient

import schemas
from benchmarks.broker.engines import cluster
from benchmarks.rows import Finding, Wanted, row
from benchmarks.trainer.load import Load
from mentor_stream import broker as brokers
from mentor_stream import topics
from mentor_stream.broker.kafka.settings import parse
from mentor_stream.config import Config, RunConfig, parse_section
from mentor_stream.topics import TopicsConfig
from schemas import Group
from trainer.config import TrainerConfig
from trainer.intake import stream as streams
from trainer.intake.preparation import Batch, Preparation
from trainer.packing.microbatch import Multiples, collate
from trainer.packing.shares import Share

RUN = f"benchmark-{uuid4().hex[:12]}"
GROUP = Load("65kB", hidden=0, layers=0, words=32_000, groups=1, prompt=64, completion=1000, even=True)
BATCH = 32
"""Groups."""
WANTED = 50.0
"""MB a second, of an idle machine."""
UNDER_WAY = 64
"""Groups that are appended at once."""


class Spent(NamedTuple):
    """What so many MB took, of this process and its threads."""

    seconds: float
    cpu: float


@dataclass(frozen=True)
class Recorded:
    """Encoded groups, alike but for their ids, on a run's stream."""

    config: Config
    values: list[bytes]

    @property
    def megabytes(self) -> float:
        """Of all of them."""
        return sum(map(len, self.values)) / 1e6


@contextmanager
def on_sqlite(directory: Path) -> Generator[str]:
    """The URL of an empty file."""
    with TemporaryDirectory(dir=directory) as place:
        yield f"sqlite:///{Path(place).resolve()}/stream.db"


@contextmanager
def on_kafka(directory: Path) -> Generator[str]:
    """The URL of a cluster; the run's topics go with the block. Raises BrokerError where there is none."""
    with cluster(None, directory) as servers:
        url = f"kafka://{servers}"
        yield url
        with closing(KafkaAdminClient(**parse(url).client_options())) as admin:
            admin.delete_topics([topic.of(RUN) for topic in topics.ALL])


def intake(name: str, url: str, *, groups: int, rounds: int) -> Iterator[Finding]:
    """Both in turn, after a round of each that does not count."""
    recorded = _recorded(url, groups)
    taken = [(_taken(recorded), _decoded(recorded.values)) for _ in range(rounds + 1)][1:]
    ours, bare = zip(*taken, strict=True)
    rate, baseline = (recorded.megabytes / median(spent.seconds for spent in way) for way in (ours, bare))
    yield row(f"trainer.intake.{name}", rate, "MB/s", baseline), Wanted("value", "at least", WANTED)
    cost, baseline = (1000 * median(spent.cpu for spent in way) / recorded.megabytes for way in (ours, bare))
    yield row(f"trainer.intake.{name}.cpu", cost, "ms/MB", baseline), None


def _recorded(url: str, groups: int) -> Recorded:
    [group] = GROUP.batch
    values = [schemas.encode(msgspec.structs.replace(group, group_id=f"{n:032x}")) for n in range(groups)]
    given = {
        "run": {
            "name": RUN,
            "directory": ".",
            "broker": url,
            "policy": ".",
            "batch_groups": BATCH,
            "max_staleness": groups,
        }
    }
    kinds = (RunConfig, TopicsConfig, TrainerConfig)
    sections = {kind.table: parse_section(kind, given.get(kind.table, {}), kind.table) for kind in kinds}
    recorded = Recorded(Config(Path(), sections), values)
    anyio.run(_append, recorded, backend="trio")
    return recorded


async def _append(recorded: Recorded) -> None:
    async with brokers.connect(recorded.config.run.broker) as broker:
        await broker.create_topics(TopicsConfig().specs(RUN))
        async with broker.producer() as producer:
            for start in range(0, len(recorded.values), UNDER_WAY):
                async with anyio.create_task_group() as sends:
                    for number, value in enumerate(recorded.values[start : start + UNDER_WAY], start):
                        sends.start_soon(
                            producer.send, topics.GROUPS.of(RUN), f"{number:032x}".encode(), value
                        )


def _decoded(values: Sequence[bytes]) -> Spent:
    """By msgspec alone, in memory already."""
    decoder, watch = msgspec.msgpack.Decoder(Group), _watch()
    for value in values:
        decoder.decode(value)
    return watch()


def _taken(recorded: Recorded) -> Spent:
    """As trainer/loop.py does it, less the learning."""
    preparation = Preparation(recorded.config, vocabulary=GROUP.words, positions=2**20)
    left = len(recorded.values) // BATCH
    with streams.connect(recorded.config) as stream:
        watch = _watch()
        stream.start(preparation, [])
        while left:
            if isinstance(batch := stream.take(preparation, 1.0), Batch):
                left -= 1
                _laid_out(batch.shares[0])
        return watch()


def _laid_out(share: Share) -> None:
    for part in share.parts:
        for rows in part.packs:
            collate(rows, Multiples())


def _watch() -> "partial[Spent]":
    return partial(_since, time.perf_counter(), time.process_time())


def _since(wall: float, cpu: float) -> Spent:
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)

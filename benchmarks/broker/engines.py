"""Where the rounds of each engine take place."""

import os
from collections.abc import Generator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol
from uuid import uuid4

import anyio
from kafka import KafkaAdminClient

from benchmarks.broker.bare_kafka import BareKafka
from benchmarks.broker.bare_sqlite import BareSqlite
from benchmarks.broker.load import PARTITIONS, Load, Spent
from mentor_stream.broker import BrokerError, TopicSpec, connect
from mentor_stream.broker.kafka.settings import parse

NO_KAFKA = (
    "no Kafka to measure: name one with --kafka host:port or KAFKA_BOOTSTRAP (deploy/compose.yaml starts "
    "one), or set KAFKA_HOME to an unpacked Apache Kafka and install Java 17 or newer"
)


class Bare(Protocol):
    """The same work by the engine's client alone."""

    def produce(self, load: Load) -> Spent:
        """Append the load durably."""
        ...

    def consume(self, load: Load) -> Spent:
        """Read a load that was produced."""
        ...


@dataclass(frozen=True)
class Place:
    """An empty stream for ours and another for the bare client."""

    url: str
    topic: str
    bare: Bare


class Engine(Protocol):
    """An engine to measure."""

    name: str
    least_ratio: float
    """Promised throughput, ours to bare."""

    def place(self) -> AbstractContextManager[Place]:
        """A new place; whatever was written there goes with it."""
        ...


class Sqlite:
    """Files in `directory`, in one mode of durability."""

    least_ratio = 0.5

    def __init__(self, directory: Path, synchronous: str) -> None:
        self.name = f"sqlite-{synchronous}"
        self._directory, self._synchronous = directory, synchronous

    @contextmanager
    def place(self) -> Generator[Place]:
        """See Engine.place."""
        with TemporaryDirectory(dir=self._directory) as directory:
            ours = Path(directory).resolve() / "ours.db"
            bare = BareSqlite(ours.with_name("bare.db"), ours, self._synchronous)
            yield Place(f"sqlite:///{ours}?synchronous={self._synchronous}", "records", bare)


class Kafka:
    """Topics on a cluster."""

    name = "kafka"
    least_ratio = 0.9

    def __init__(self, servers: str) -> None:
        self._url = f"kafka://{servers}"

    @contextmanager
    def place(self) -> Generator[Place]:
        """See Engine.place."""
        settings, name = parse(self._url), f"benchmark-{uuid4().hex[:12]}"
        ours, bare = f"{name}-ours", f"{name}-bare"
        anyio.run(_create, self._url, ours, bare, backend="trio")
        try:
            yield Place(self._url, ours, BareKafka(settings, own=bare, ours=ours))
        finally:
            with closing(KafkaAdminClient(**settings.client_options())) as admin:
                admin.delete_topics([ours, bare])


async def _create(url: str, *topics: str) -> None:
    async with connect(url) as broker:
        await broker.create_topics([TopicSpec(topic, partitions=PARTITIONS) for topic in topics])


@contextmanager
def cluster(given: str | None, directory: Path) -> Generator[str]:
    """host:port of the cluster that was named, or of a node for the block. Raises BrokerError for neither."""
    servers = given or os.environ.get("KAFKA_BOOTSTRAP")
    if servers:
        yield servers
        return
    from tests.cluster import Cluster, distribution

    if distribution() is None:
        raise BrokerError(NO_KAFKA)
    with TemporaryDirectory(dir=directory) as home, Cluster(Path(home)) as node:
        yield node.servers

"""The contract under kill -9: workers, and the broker, die and stall at random moments under load.

CRASH_ROUNDS is how many rounds there are, 50 by default since 200 take Kafka some six minutes, and CRASH_SEED
which; a failure tells its seed.
"""

import logging
import os
import random
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import EARLIEST, TopicPartition, TopicSpec
from mentor_stream.broker.sqlite.schema import WAL_BYTES
from tests.broker.chaos.journal import History, Logged, now
from tests.broker.chaos.killer import Killer
from tests.broker.chaos.plan import Mix, Round, plan
from tests.broker.chaos.verdict import counts, violations
from tests.broker.chaos.workers import PREFETCH, Job, identity, payload
from tests.cluster import Cluster, needs_nodes

log = logging.getLogger(__name__)

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("CRASH_ROUNDS", "50"))
PARTITIONS = 6
WORKERS: Mix = {"kill producer": 75, "kill consumer": 75, "stall producer": 12, "stall consumer": 24}
SHARED_FILE: Mix = {**WORKERS, "kill everyone": 14}
CLUSTER: Mix = {**WORKERS, "kill everyone": 4, "kill broker": 6, "stall broker": 4}


class Largest:
    """The largest that a file was whenever somebody looked, in bytes."""

    def __init__(self, path: Path) -> None:
        self.path, self.bytes = path, 0

    def look(self) -> None:
        with suppress(FileNotFoundError):
            self.bytes = max(self.bytes, self.path.stat().st_size)


@pytest.fixture
def seed() -> int:
    return int(os.environ.get("CRASH_SEED", random.randrange(10**6)))


def a_job(url: str, directory: Path) -> Job:
    """Work on a new topic."""

    async def create_topic() -> None:
        async with brokers.connect(url) as broker:
            await broker.create_topics([TopicSpec("load", PARTITIONS)])

    anyio.run(create_topic, backend="trio")
    journals = directory / "journals"
    journals.mkdir()
    return Job(url, "load", PARTITIONS, "group", journals)


async def read_log(job: Job) -> list[Logged]:
    start = {TopicPartition(job.topic, number): EARLIEST for number in range(job.partitions)}
    async with brokers.connect(job.url) as broker, broker.reader(start, follow=False) as reader:
        return [Logged(*identity(m.value), m.partition, m.offset) async for m in reader]


def judge(history: History, rounds: Sequence[Round], seed: int, seconds: float) -> None:
    """The contract was kept, and there was work to keep it on."""
    found = counts(history)
    kinds = dict(Counter(blow.kind for blow in rounds))
    log.info("CRASH_SEED=%d: %d rounds in %.0f s, %s, %s", seed, len(rounds), seconds, kinds, found)
    broken = violations(history, prefetch=PREFETCH)
    assert not broken, f"{len(broken)} violations with CRASH_SEED={seed}: {broken[:20]}"
    assert found.acknowledged > 5 * len(rounds)


def test_nothing_is_lost_when_processes_that_share_a_file_are_killed_amid_transactions(tmp_path, seed):
    path = tmp_path / "stream.db"
    began, wal = now(), Largest(tmp_path / "stream.db-wal")
    job = a_job(f"sqlite:///{path}?lease=1&timeout=60", tmp_path)
    killer, rounds = Killer(job, look=wal.look), plan(seed, ROUNDS, SHARED_FILE, lease=1)
    killer.run(rounds)
    killer.history.log = anyio.run(read_log, job, backend="trio")
    judge(killer.history, rounds, seed, now() - began)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    sent = sum(len(payload(message.key, message.number)) for message in killer.history.log)
    log.info("%d bytes sent, file of %d bytes, WAL of at most %d", sent, path.stat().st_size, wal.bytes)
    assert path.stat().st_size < 2 * sent + 2**20
    assert wal.bytes < 2 * WAL_BYTES
    assert not wal.path.exists()


@needs_nodes
def test_nothing_is_lost_when_kafka_and_its_clients_are_killed_amid_work(tmp_path, seed):
    began = now()
    with Cluster(tmp_path / "kafka") as cluster:
        job = a_job(f"{cluster.url}?session_timeout=2&connect_timeout=60&send_timeout=60", tmp_path)
        killer, rounds = Killer(job, cluster), plan(seed, ROUNDS, CLUSTER, lease=2)
        killer.run(rounds)
        killer.history.log = anyio.run(read_log, job, backend="trio")
    judge(killer.history, rounds, seed, now() - began)

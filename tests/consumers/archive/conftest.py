"""A run with a bit of everything on its topics, on either engine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import pytest

import schemas
from mentor_stream import broker as brokers
from mentor_stream import stream, topics
from mentor_stream.broker import EARLIEST, Broker, Message, TopicPartition
from schemas import Diagnosis, Outcome
from tests.builders import a_group, a_guided_query, a_query, a_record_of_each_kind
from tests.runs import write_config

CASES = 10


class Recorded:
    """A run, and what reads it."""

    def __init__(self, directory: Path, url: str, name: str) -> None:
        self.directory, self.url, self.name = directory, url, name
        self.config = write_config(directory, broker=url, name=name)

    def copy(self, file: Path) -> str:
        """A config of the same run in a SQLite file."""
        directory = self.directory / file.stem
        directory.mkdir(exist_ok=True)
        return write_config(directory, broker=f"sqlite:///{file}", name=self.name)

    def messages(self, url: str | None = None, name: str | None = None) -> dict[str, list[Any]]:
        """All that stands on the topics, by partition in its order."""
        return on(url or self.url, lambda broker: everything(broker, name or self.name))


def on(url: str, ask: Callable[[Broker], Any]) -> Any:
    async def main() -> Any:
        async with brokers.connect(url, create=False) as broker:
            return await ask(broker)

    return anyio.run(main, backend="trio")


async def everything(broker: Broker, run: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for topic in topics.ALL:
        bounds = await broker.bounds(topic.of(run))
        places = dict.fromkeys(bounds, EARLIEST)
        async with broker.reader(places, follow=False, on_gap="earliest") as reader:
            messages = [message async for message in reader]
        found[topic.name] = sorted(
            (m.partition, m.offset, m.timestamp, m.key, m.headers, m.value) for m in messages
        ) + [(place.partition, *kept) for place, kept in sorted(bounds.items())]
    return found


async def fill(run: stream.Stream) -> None:
    records = a_record_of_each_kind()
    for number in range(CASES):
        query = a_query(f"What is {number} + {number}?", f"{2 * number}", position=number)
        group = a_group("WWWW", query=query)
        await run.publish(topics.QUERIES, query)
        await run.publish(topics.COLLAPSED, group)
        lesson = a_guided_query(query)
        await run.publish(topics.GUIDED, lesson)
        await run.publish(topics.GROUPS, a_group("RWUA", query=lesson))
        await run.publish(topics.DIAGNOSES, a_diagnosis(group, lesson))
    await run.publish(topics.POLICIES, records["policy_release"])
    await run.publish(topics.METRICS, records["metric"])
    async with run.broker.producer() as producer:
        poison = [(b"", b""), (b"\xff\x00", b"\x93no record"), (b"key", bytes(200_000))]
        for key, value in poison:
            await producer.send(
                run.name(topics.COLLAPSED), key, value, [("requeued-from", b"\xfe"), ("again", b"")]
            )
    async for delivery in deliveries(run):
        delivery.done()  # makes dead letters of the poison


async def deliveries(run: stream.Stream) -> Any:
    async with run.reader(topics.COLLAPSED, start="earliest", follow=False) as found:
        async for delivery in found:
            yield delivery


def a_diagnosis(group: schemas.Group, lesson: schemas.Query) -> Diagnosis:
    return Diagnosis(
        group_id=group.group_id,
        query_id=group.query.query_id,
        guide="scripted",
        round=1,
        outcome=Outcome.HINT,
        reason="passed",
        hint=lesson.hint,
        guided_query_id=lesson.query_id,
        policy_version=0,
    )


def a_place(run: str, topic: str, partition: int) -> TopicPartition:
    return TopicPartition(f"{run}.{topic}", partition)


def recorded_on(url: str, directory: Path) -> Recorded:
    name = f"run-{uuid4().hex[:8]}"

    async def main() -> None:
        async with stream.connect(url, name, "test") as run:
            await fill(run)

    anyio.run(main, backend="trio")
    return Recorded(directory, url, name)


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """On SQLite."""
    return recorded_on(f"sqlite:///{tmp_path}/stream.db", tmp_path)


@pytest.fixture(params=["sqlite", "kafka"])
def recorded_anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Recorded:
    """On either engine."""
    if request.param == "kafka":
        return recorded_on(f"kafka://{request.getfixturevalue('kafka')}", tmp_path)
    return request.getfixturevalue("recorded")


def a_message(offset: int, moment: float = 1.0, partition: int = 0, **other: Any) -> Message:
    given = {"key": b"k", "value": b"v", "headers": ()} | other
    return Message("run.groups", partition, offset, timestamp=moment, **given)

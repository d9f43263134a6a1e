"""What stands on a run's topics: its groups in the order of their time, and the losses it told."""

from pathlib import Path
from uuid import uuid4

import anyio
import pytest

import schemas
from mentor_stream import stream as streams
from mentor_stream import topics
from mentor_stream.stream import Delivery, Stream
from schemas import Group
from tests.builders import some_groups
from trainer.retraining.recorded import recorded as opened

PARTITIONS = 3


@pytest.fixture(params=["sqlite", "kafka"])
def broker_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "kafka":
        return f"kafka://{request.getfixturevalue('kafka')}"
    return f"sqlite:///{tmp_path}/stream.db"


def test_groups_of_all_partitions_come_in_the_order_of_their_time(broker_url: str):
    groups, name = some_groups(30), f"run-{uuid4().hex[:8]}"

    async def main() -> list[Delivery[Group]]:
        async with streams.connect(
            broker_url, name, "test", topics.TopicsConfig(partitions=PARTITIONS)
        ) as run:
            await run.publish_all(topics.GROUPS, groups[:20])
            for group in groups[20:]:
                await run.publish(topics.COLLAPSED, group)
                await run.publish(topics.GROUPS, group)
            async with run.broker.producer() as producer:
                await producer.send(run.name(topics.GROUPS), b"key", b"no record")
        async with opened(broker_url, name) as found:
            taken = [await found.take(7) for _ in range(7)]
            assert found.unreadable == 1
            assert await found.losses() == {}
        return [delivery for part in taken for delivery in part]

    read = anyio.run(main, backend="trio")
    messages = [delivery.message for delivery in read]
    assert [m.timestamp for m in messages] == sorted(m.timestamp for m in messages)
    assert len({message.place for message in messages}) > PARTITIONS
    for place in {message.place for message in messages}:
        offsets = [message.offset for message in messages if message.place == place]
        assert offsets == sorted(offsets)
    ids = sorted(delivery.record.group_id for delivery in read)
    assert ids == sorted(group.group_id for group in [*groups, *groups[20:]])


def test_the_last_word_on_a_loss_counts(tmp_path: Path):
    async def main() -> dict[int, float]:
        where = f"sqlite:///{tmp_path}/stream.db"
        async with streams.connect(where, "t", "trainer") as stream:
            for version, values in ((1, {"loss": 1.0}), (2, {"loss": 2.0}), (1, {"loss": 3.0}), (2, {})):
                await tell(stream, "trainer", version, values)
            await tell(stream, "rollout", 3, {"loss": 4.0})
        async with opened(where, "t") as found:
            return await found.losses()

    assert anyio.run(main, backend="trio") == {1: 3.0}


async def tell(stream: Stream, component: str, version: int, values: dict[str, float]) -> None:
    metric = schemas.Metric(
        component=component, instance="i", time=0.0, policy_version=version, values=values
    )
    await stream.publish(topics.METRICS, metric)

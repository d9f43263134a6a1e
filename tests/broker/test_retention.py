"""The contract: topics forget what their retention does not cover, and nothing else."""

from dataclasses import replace

import anyio
import pytest

from mentor_stream.broker import Broker, TopicPartition, TopicSpec
from tests.broker.traffic import BLOCK, everything, fill, forget, send_blocks, short_lived, take

pytestmark = pytest.mark.anyio


async def test_a_topic_keeps_about_its_retention_bytes(broker, name, patience):
    keep = 2 * 2**20
    await broker.create_topics([replace(short_lived(name), retention_bytes=keep)])
    await forget(broker, name, 4 * keep // BLOCK, patience)
    kept = sum(len(message.value) for message in await everything(broker, name))
    assert 0.9 * keep <= kept
    with anyio.fail_after(patience):
        while (await broker.describe(name)).size_bytes > 2 * keep:
            await anyio.sleep(0.05)


async def test_a_topic_forgets_what_is_older_than_its_retention(broker, name, patience):
    await broker.create_topics([TopicSpec(name, retention_seconds=1), TopicSpec(name + "-2")])
    for topic in (name, name + "-2"):
        await fill(broker, topic, 20)
    await forget(broker, name, 20, patience)
    assert len(await everything(broker, name + "-2")) == 20


async def test_what_is_forgotten_is_missing_everywhere(broker, name, patience):
    place = TopicPartition(name, 0)
    await broker.create_topics([short_lived(name)])
    await fill(broker, name, 5)
    async with broker.consumer([name], group=name) as consumer:
        for message in await take(consumer, 3):
            consumer.done(message)
    assert await broker.lag(name, name) == 2
    await forget(broker, name, 5, patience)
    messages = await everything(broker, name)
    bounds = (await broker.bounds(name))[place]
    assert [message.offset for message in messages] == list(range(*bounds))
    assert (await broker.offsets_at(name, 0.0))[place] == bounds.first
    assert await broker.lag(name, name) == bounds.next - bounds.first


async def test_another_retention_holds_for_what_is_there_already(broker: Broker, name: str, patience: float):
    await broker.create_topics([replace(short_lived(name), retention_bytes=None)])
    await send_blocks(broker, name, 64)
    assert (await broker.bounds(name))[TopicPartition(name, 0)].first == 0
    await broker.alter_topic(short_lived(name))
    assert await forget(broker, name, 64, patience) >= 64

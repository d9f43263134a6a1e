"""The contract: how large a message may be, and how many bytes are fetched ahead."""

import random
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import anyio
import pytest

from mentor_stream.broker import (
    Broker,
    Consumer,
    Message,
    MessageTooLarge,
    OffsetGap,
    Reader,
    TopicPartition,
    TopicSpec,
)
from mentor_stream.broker.base import BUFFER_BYTES
from mentor_stream.broker.sizes import ENVELOPE_BYTES, HEADER_BYTES
from tests.broker.traffic import SOON, collect, everything, forget, send_blocks, take

pytestmark = pytest.mark.anyio

LARGEST = TopicSpec("").max_message_bytes
MIB = 2**20
FETCHING_SECONDS = 2.0
"""Long enough to fetch far too much, for an engine that would."""


async def test_a_message_of_the_topics_limit_passes_and_one_byte_more_is_refused(broker, name):
    assert LARGEST == 32 * MIB
    value = random.Random(0).randbytes(LARGEST)
    key, headers = b"k" * 1_000, [("header", b"h" * 1_000)]
    await broker.create_topics([TopicSpec(name)])
    async with broker.producer() as producer, broker.consumer([name], group=name) as consumer:
        with anyio.fail_after(SOON), pytest.raises(MessageTooLarge, match=f"{name}.*{LARGEST}"):
            await producer.send(name, key, value + b"1", headers)
        for _ in range(2):
            await producer.send(name, key, value, headers)
        for message in await take(consumer, 2):
            assert message.value == value
            assert (message.key, message.headers) == (key, tuple(headers))
    assert len(await everything(broker, name)) == 2


@pytest.mark.parametrize(
    ("key", "headers"),
    [
        (b"k" * ENVELOPE_BYTES, []),
        (b"k", [("ü" * 100, b"h" * (ENVELOPE_BYTES - 201 - HEADER_BYTES))]),
        (b"k" * (ENVELOPE_BYTES % HEADER_BYTES), [("", b"")] * (ENVELOPE_BYTES // HEADER_BYTES)),
    ],
    ids=["key", "header", "headers"],
)
async def test_key_and_headers_have_room_beside_the_largest_value_and_one_byte_more_is_refused(
    broker, name, key: bytes, headers: list[tuple[str, bytes]]
):
    value = random.Random(0).randbytes(LARGEST)
    await broker.create_topics([TopicSpec(name)])
    problem = rf"{name}: key and headers of {ENVELOPE_BYTES + 1} bytes, {ENVELOPE_BYTES} allowed beside"
    async with broker.producer() as producer:
        with anyio.fail_after(SOON):
            with pytest.raises(MessageTooLarge, match=problem):
                await producer.send(name, key + b"1", value, headers)
            await producer.send(name, key, value, headers)
    (message,) = await everything(broker, name)
    assert (message.key, message.headers) == (key, tuple(headers))
    assert message.value == value


@pytest.mark.parametrize("large", ["key", "header", "headers"])
async def test_what_a_value_leaves_of_its_limit_is_for_key_and_headers(broker, name, large: str):
    size = MIB + ENVELOPE_BYTES - len("value")
    key = b"k" * size if large == "key" else b""
    headers = {
        "key": [],
        "header": [("name", b"h" * (size - len("name") - HEADER_BYTES))],
        "headers": [("n" * 90, b"h" * 9_900)] * (size // 10_000),
    }[large]
    await broker.create_topics([TopicSpec(name, max_message_bytes=MIB)])
    async with broker.producer() as producer:
        with anyio.fail_after(SOON):
            with pytest.raises(MessageTooLarge, match=f"{name}: key and headers"):
                await producer.send(name, key + b"1" * 10_000, b"value", headers)
            await producer.send(name, key, b"value", headers)
    (message,) = await everything(broker, name)
    assert (message.key, message.value, message.headers) == (key, b"value", tuple(headers))


Opening = Callable[[Broker, str], AbstractAsyncContextManager[Consumer | Reader]]


def consuming(broker: Broker, topic: str) -> AbstractAsyncContextManager[Consumer]:
    return broker.consumer([topic], group=topic, prefetch=1_000)


def reading(broker: Broker, topic: str) -> AbstractAsyncContextManager[Reader]:
    return broker.reader({TopicPartition(topic, 0): 0}, prefetch=1_000)


@pytest.mark.parametrize("taking", [consuming, reading])
async def test_about_so_many_bytes_are_fetched_ahead_whatever_the_prefetch(
    broker, name, patience, taking: Opening
):
    """What is handed out although the topic has forgotten it was fetched ahead."""
    await broker.create_topics([TopicSpec(name, max_message_bytes=MIB)])
    await send_blocks(broker, name, 4 * BUFFER_BYTES // MIB, MIB)
    async with taking(broker, name) as messages:
        await take(messages, 1)
        await anyio.sleep(FETCHING_SECONDS)
        await broker.alter_topic(TopicSpec(name, max_message_bytes=MIB, retention_bytes=MIB))
        await forget(broker, name, 4 * BUFFER_BYTES // MIB, patience)
        ahead: list[Message] = []
        with pytest.raises(OffsetGap):
            await collect(messages, ahead)
    assert sum(len(message.value) for message in ahead) <= 1.5 * BUFFER_BYTES

"""The contract: what one connection writes compressed, every connection reads."""

import random

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import BrokerError, MessageTooLarge, TopicSpec
from tests.broker.traffic import SOON, everything, take

pytestmark = pytest.mark.anyio

TEXT = b"a thought that repeats itself, " * 2_000
NOISE = random.Random(0).randbytes(10_000)


@pytest.fixture(params=["gzip", "lz4"])
def compressing_url(request: pytest.FixtureRequest, broker_url: str) -> str:
    return f"{broker_url}&compression={request.param}"


async def test_what_is_written_with_any_compression_is_read_by_every_connection(broker_url, name):
    urls = [broker_url, f"{broker_url}&compression=gzip", f"{broker_url}&compression=lz4"]
    values = [TEXT, b"", NOISE, b"short"]
    async with brokers.connect(broker_url) as broker:
        await broker.create_topics([TopicSpec(name)])
    for url in urls:
        async with brokers.connect(url) as broker, broker.producer() as producer:
            for value in values:
                await producer.send(name, b"key", value, [("header", TEXT)])
    for number, url in enumerate(urls):
        async with brokers.connect(url) as broker:
            messages = await everything(broker, name)
            assert [message.value for message in messages] == values * len(urls)
            assert {(message.key, message.headers) for message in messages} == {(b"key", (("header", TEXT),))}
            async with broker.consumer([name], group=f"{name}-{number}") as consumer:
                assert await take(consumer, len(messages)) == messages


async def test_repetitive_messages_take_less_space_compressed(broker, compressing_url, name):
    async with brokers.connect(compressing_url) as compressing:
        sizes = []
        for connection, topic in ((broker, name), (compressing, name + "-2")):
            await connection.create_topics([TopicSpec(topic)])
            async with connection.producer() as producer:
                for _ in range(10):
                    await producer.send(topic, b"key", TEXT)
            sizes.append((await broker.describe(topic)).size_bytes)
    plain, compressed = sizes
    assert plain >= 10 * len(TEXT)
    assert compressed < plain / 10


async def test_the_limit_of_a_topic_is_of_what_is_sent_not_of_what_it_shrinks_to(
    broker, compressing_url, name
):
    await broker.create_topics([TopicSpec(name, max_message_bytes=len(TEXT))])
    async with brokers.connect(compressing_url) as compressing, compressing.producer() as producer:
        with anyio.fail_after(SOON), pytest.raises(MessageTooLarge, match=str(len(TEXT))):
            await producer.send(name, b"key", TEXT + b".")
        await producer.send(name, b"key", TEXT)
        noise = random.Random(1).randbytes(len(TEXT))
        await producer.send(name, b"key", noise)
    assert [message.value for message in await everything(broker, name)] == [TEXT, noise]


async def test_an_unknown_compression_is_refused_by_name(broker_url):
    with pytest.raises(BrokerError, match=r"run\.broker.*compression=.*brotli.*gzip"):
        brokers.check(f"{broker_url}&compression=brotli")

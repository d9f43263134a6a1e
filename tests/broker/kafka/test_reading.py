"""Reading what retention left."""

from functools import partial

import anyio
import pytest
from anyio import to_thread
from kafka import KafkaAdminClient
from kafka.structs import TopicPartition as KafkaPartition

from mentor_stream import broker as brokers
from mentor_stream.broker import TopicPartition, TopicSpec

pytestmark = pytest.mark.anyio


async def test_reading_goes_on_at_the_first_message_that_retention_left(kafka: str, name: str):
    place = TopicPartition(name, 0)
    async with brokers.connect(f"kafka://{kafka}") as broker:
        await broker.create_topics([TopicSpec(name)])
        async with broker.producer() as producer:
            for number in range(10):
                await producer.send(name, b"key", b"%d" % number)
        async with broker.reader({place: 2}, prefetch=1) as slow:
            messages = aiter(slow)
            assert (await anext(messages)).offset == 2
            await to_thread.run_sync(partial(_delete_before, kafka, name, 7))
            with anyio.fail_after(20):
                assert [(await anext(messages)).offset for _ in range(2)][-1] in (4, 8)
        async with broker.reader({place: 2}, follow=False) as late:
            assert [message.offset async for message in late] == [7, 8, 9]
        assert await broker.lag(name, name) == 3


def _delete_before(servers: str, topic: str, offset: int) -> None:
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.delete_records({KafkaPartition(topic, 0): offset})
    admin.close()

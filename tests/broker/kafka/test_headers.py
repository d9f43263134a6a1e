"""Headers that somebody else's producer wrote."""

from contextlib import closing

import anyio
import pytest
from anyio import to_thread
from kafka import KafkaProducer as RawProducer

from mentor_stream import broker as brokers
from mentor_stream.broker import TopicSpec
from tests.broker.traffic import everything, take

pytestmark = pytest.mark.anyio

BYTES = b"\xff\xfed\xfd"


class Foreign(str):
    """A header's name as other clients may write it: any bytes."""

    __slots__ = ()

    def encode(self, *_: str) -> bytes:
        return BYTES


async def test_a_header_name_that_is_no_text_keeps_nobody_from_the_record_and_those_behind_it(
    kafka: str, name: str
):
    def send() -> None:
        with closing(RawProducer(bootstrap_servers=kafka)) as raw:
            for number in range(3):
                headers = [("good", b"1"), (Foreign("x"), BYTES), ("last", b"2")] if number == 1 else []
                raw.send(name, key=BYTES, value=BYTES * 1_000, headers=headers, partition=0)
            raw.flush(30)

    async with brokers.connect(f"kafka://{kafka}") as broker:
        await broker.create_topics([TopicSpec(name)])
        await to_thread.run_sync(send)
        async with broker.consumer([name], group=name) as consumer:
            with anyio.fail_after(30):
                consumed = await take(consumer, 3)
        read = await everything(broker, name)
    for messages in (consumed, read):
        assert [(message.key, message.value) for message in messages] == [(BYTES, BYTES * 1_000)] * 3
        assert messages[1].headers == (("good", b"1"), ("??d?", BYTES), ("last", b"2"))

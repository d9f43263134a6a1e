"""Reading whole topics in tests."""

from typing import TypeVar

import anyio

import schemas
from mentor_stream.stream import Stream
from mentor_stream.topics import Topic

R = TypeVar("R", bound=schemas.Record)


async def everything(stream: Stream, topic: Topic[R]) -> list[R]:
    """The records that a topic holds now."""
    async with stream.reader(topic, start="earliest", follow=False) as deliveries:
        return [delivery.record async for delivery in deliveries]


async def until(stream: Stream, topic: Topic[R], count: int, *, seconds: float = 20.0) -> list[R]:
    """The first `count` records of a topic, waited for."""
    records: list[R] = []
    with anyio.fail_after(seconds):
        async with stream.reader(topic, start="earliest") as deliveries:
            async for delivery in deliveries:
                records.append(delivery.record)
                if len(records) == count:
                    break
    return records

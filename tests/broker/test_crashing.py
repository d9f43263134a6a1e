"""The contract: whatever order a member finishes its work in, a crash repeats what it had not finished."""

import os
import signal
from collections import defaultdict
from functools import partial
from itertools import count
from random import Random
from uuid import uuid4

import anyio
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mentor_stream import broker as brokers
from mentor_stream.broker import Broker, TopicSpec
from tests.broker.traffic import lag_is
from tests.broker.worker import worker

pytestmark = pytest.mark.anyio

PARTITIONS, MESSAGES = 6, 60
"""One example tries as many prefixes as there are partitions: examples cost seconds."""
SECONDS = 60.0


@settings(
    max_examples=2,
    phases=[Phase.generate],  # shrinking would take minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.randoms(use_true_random=True))
async def test_after_a_crash_all_comes_again_from_the_first_message_that_was_not_done(
    broker_url: str, random: Random
):
    topic = f"test-{uuid4().hex[:12]}"
    done = random.sample(range(MESSAGES), random.randint(MESSAGES // 2, MESSAGES - 1))
    async with brokers.connect(broker_url) as broker:
        with anyio.fail_after(SECONDS):
            places = await filled(broker, topic)
            finished = {places[number] for number in done}
            prefixes = {p: next(n for n in count() if (p, n) not in finished) for p in range(PARTITIONS)}
            left = {(p, n) for p, n in places if n >= prefixes[p]}

            async def crash(group: str, *, committed: bool) -> None:
                async with worker("hold", broker_url, topic, group) as member:
                    assert await member.line() == "joined"
                    assert {int(await member.line()) for _ in range(MESSAGES)} == set(range(MESSAGES))
                    await member.tell(*map(str, done))
                    assert await member.line() == "marked"
                    if committed:
                        await lag_is(broker, topic, group, len(left))
                    else:
                        await anyio.sleep(random.uniform(0, 0.3))
                    os.kill(member.process.pid, signal.SIGKILL)
                for partition, offsets in (await comes_again(broker, topic, group, left)).items():
                    assert offsets == list(range(offsets[0], offsets[0] + len(offsets)))
                    assert offsets[0] <= prefixes[partition]
                    assert offsets[0] == prefixes[partition] or not committed

            async with anyio.create_task_group() as groups:
                groups.start_soon(partial(crash, topic + "-1", committed=True))
                groups.start_soon(partial(crash, topic + "-2", committed=False))


async def filled(broker: Broker, topic: str) -> list[tuple[int, int]]:
    """Partition and offset of each message."""
    await broker.create_topics([TopicSpec(topic, PARTITIONS)])
    async with broker.producer() as producer:
        sent = [await producer.send(topic, b"%d" % number, b"%d" % number) for number in range(MESSAGES)]
    return [(receipt.partition, receipt.offset) for receipt in sent]


async def comes_again(
    broker: Broker, topic: str, group: str, until: set[tuple[int, int]]
) -> dict[int, list[int]]:
    """The offsets that a new member gets of each partition, until it has got all of these."""
    got: dict[int, list[int]] = defaultdict(list)
    missing = set(until)
    async with broker.consumer([topic], group=group) as consumer:
        async for message in consumer:
            got[message.partition].append(message.offset)
            missing.discard((message.partition, message.offset))
            if not missing:
                break
    return got

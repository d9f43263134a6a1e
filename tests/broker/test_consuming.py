"""The contract: one member of a consumer group."""

import anyio
import pytest

from tests.broker.traffic import fill, lag_is, nothing_comes, take, values

pytestmark = pytest.mark.anyio


async def test_a_new_group_starts_at_the_earliest_message_and_goes_on_with_new_ones(broker, name):
    await fill(broker, name, 3)
    async with broker.consumer([name], group=name) as consumer:
        assert values(await take(consumer, 3)) == [0, 1, 2]
        async with broker.producer() as producer, anyio.create_task_group() as tasks:
            tasks.start_soon(producer.send, name, b"key", b"3")
            assert values(await take(consumer, 1)) == [3]


async def test_messages_that_are_done_do_not_come_again(broker, name):
    await fill(broker, name, 10, partitions=2)
    async with broker.consumer([name], group=name) as consumer:
        messages = await take(consumer, 10)
        for message in messages:
            consumer.done(message)
    async with broker.producer() as producer:
        await producer.send(name, b"key", b"10")
    async with broker.consumer([name], group=name) as consumer:
        assert values(await take(consumer, 1)) == [10]


async def test_messages_done_out_of_order_are_committed_up_to_the_first_that_is_not(broker, name):
    await fill(broker, name, 6)
    async with broker.consumer([name], group=name) as consumer:
        messages = await take(consumer, 6)
        for number in (5, 0, 3, 1, 4):
            consumer.done(messages[number])
    async with broker.consumer([name], group=name) as consumer:
        assert values(await take(consumer, 4)) == [2, 3, 4, 5]


async def test_done_is_committed_in_the_background_and_counted_by_lag(broker, name):
    await fill(broker, name, 10, partitions=2)
    assert await broker.lag(name, name) == 10
    async with broker.consumer([name], group=name) as consumer:
        for message in await take(consumer, 10):
            if int(message.value) % 20 < 7:
                consumer.done(message)
        await lag_is(broker, name, name, 3)
    assert await broker.lag(name, name) == 3
    assert await broker.lag(name, "another group") == 10


async def test_done_twice_and_in_two_groups_disturbs_nobody(broker, name):
    await fill(broker, name, 2)
    async with (
        broker.consumer([name], group=name) as one,
        broker.consumer([name], group=name + "-other") as other,
    ):
        for consumer in (one, other):
            _, second = await take(consumer, 2)
            consumer.done(second)
            consumer.done(second)
    assert await broker.lag(name, name) == await broker.lag(name, name + "-other") == 2


async def test_earlier_listed_topics_come_first(broker, name):
    plain, urgent = name + ".plain", name + ".urgent"
    await fill(broker, plain, 30, partitions=2)
    await fill(broker, urgent, 30, partitions=2)
    async with broker.consumer([urgent, plain], group=name, prefetch=8) as consumer:
        topics = []
        with anyio.fail_after(20):
            async for message in consumer:
                topics.append(message.topic)
                consumer.done(message)
                if len(topics) == 60:
                    break
    # An engine may hand out what it has before it knows of the other topic, but no more than that.
    assert topics[:30].count(urgent) >= 20


async def test_a_preferred_message_overtakes_what_was_fetched_before_it(broker, name):
    plain, urgent = name + ".plain", name + ".urgent"
    await fill(broker, plain, 120)
    await fill(broker, urgent, 0)
    async with broker.consumer([urgent, plain], group=name, prefetch=8) as consumer:
        consumer.done((await take(consumer, 1))[0])
        async with broker.producer() as producer:
            await producer.send(urgent, b"key", b"0")
        before = 0
        with anyio.fail_after(20):
            async for message in consumer:
                if message.topic == urgent:
                    break
                before += 1
                consumer.done(message)
                await anyio.sleep(0.01)
    assert before < 100


async def test_no_more_than_prefetch_messages_of_a_topic_are_out(broker, name):
    await fill(broker, name, 20, partitions=2)
    async with broker.consumer([name], group=name, prefetch=5) as consumer:
        out = await take(consumer, 5)
        assert await nothing_comes(consumer)
        consumer.done(out[2])
        out += await take(consumer, 1)
        assert await nothing_comes(consumer)
        for message in out:
            consumer.done(message)
        assert len(await take(consumer, 5)) == 5


async def test_a_message_may_take_longer_than_the_lease(broker, name, lease):
    await fill(broker, name, 1)
    async with broker.consumer([name], group=name) as slow:
        (message,) = await take(slow, 1)
        async with broker.consumer([name], group=name) as other:
            assert await nothing_comes(other, 2.5 * lease)
            slow.done(message)
    assert await broker.lag(name, name) == 0


async def test_a_consumer_whose_iteration_was_cancelled_goes_on(broker, name):
    await fill(broker, name, 0)
    async with broker.consumer([name], group=name) as consumer:
        for _ in range(3):
            assert await nothing_comes(consumer, 0.05)
        async with broker.producer() as producer:
            for number in range(40):
                await producer.send(name, b"key", b"%d" % number)
        assert values(await take(consumer, 40)) == list(range(40))


async def test_cancelling_a_consumer_commits_what_is_done(broker, name):
    await fill(broker, name, 5)
    with anyio.move_on_after(20) as scope:
        async with broker.consumer([name], group=name) as consumer:
            for message in await take(consumer, 3):
                consumer.done(message)
            scope.cancel()
            await anyio.sleep_forever()
    async with broker.consumer([name], group=name) as consumer:
        assert values(await take(consumer, 2)) == [3, 4]

from collections.abc import AsyncIterator

import anyio
import pytest

from producers.batches import batched

pytestmark = pytest.mark.anyio


async def numbers(count: int) -> AsyncIterator[int]:
    for number in range(count):
        yield number
    await anyio.sleep_forever()


async def take_all(source: AsyncIterator[int]) -> None:
    async with batched(source) as batches:
        while True:
            await batches.take(1)


async def test_a_batch_holds_what_is_there_up_to_its_limit_in_order() -> None:
    with anyio.fail_after(5):
        async with batched(numbers(5)) as batches:
            assert await batches.take(3) == [0, 1, 2]
            assert await batches.take(3) == [3, 4]


async def test_an_empty_source_is_waited_for_and_a_late_item_is_not_lost() -> None:
    late = anyio.Event()

    async def source() -> AsyncIterator[str]:
        yield "first"
        await late.wait()
        yield "late"
        await anyio.sleep_forever()

    with anyio.fail_after(5):
        async with batched(source()) as batches:
            assert await batches.take(8) == ["first"]
            late.set()
            assert await batches.take(8) == ["late"]


async def test_an_error_of_the_source_ends_the_taking() -> None:
    async def source() -> AsyncIterator[int]:
        yield 1
        raise RuntimeError("broker gone")

    with anyio.fail_after(5), pytest.raises(ExceptionGroup) as caught:
        await take_all(source())
    assert caught.group_contains(RuntimeError, match="broker gone")

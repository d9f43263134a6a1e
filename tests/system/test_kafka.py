"""The whole system on a real Apache Kafka."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.system.demo import (
    Demo,
    check_that_nothing_is_lost,
    check_what_was_trained,
    ended,
    finish_what_is_left,
)

VERSIONS = 4

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def demo(tmp_path: Path, kafka: str) -> Iterator[Demo]:
    with Demo(tmp_path, broker=f"kafka://{kafka}", versions=VERSIONS) as run:
        yield run


async def test_the_demo_trains_on_kafka(demo: Demo) -> None:
    with anyio.fail_after(300):
        assert await ended(demo.start()) == 0, demo.said()
        async with demo.stream() as stream:
            await finish_what_is_left(demo, stream)
            await check_that_nothing_is_lost(demo, stream)
            await check_what_was_trained(demo, stream, versions=VERSIONS)

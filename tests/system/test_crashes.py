"""The demo under kill -9: every component and the supervisor die, and nothing is lost or trained twice."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from mentor_stream import topics
from mentor_stream.stream import Stream
from tests.system.demo import (
    Demo,
    check_that_nothing_is_lost,
    check_what_was_trained,
    ended,
    finish_what_is_left,
)

VERSIONS = 26
COMPONENTS = ["trainer", "rollout", "mentor", "feeder", "evaluator"]

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    with Demo(tmp_path, broker=f"sqlite:///{tmp_path}/stream.db", versions=VERSIONS) as run:
        yield run


async def next_version(stream: Stream, after: int) -> int:
    """The first policy version beyond `after` that is released."""
    async with stream.reader(topics.POLICIES, start="earliest") as releases:
        async for delivery in releases:
            if delivery.record.policy_version > after:
                return delivery.record.policy_version
    raise AssertionError("a following reader does not end")


async def kill_component(demo: Demo, name: str) -> None:
    while (pid := demo.pid_of(name)) is None:
        await anyio.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    while demo.pid_of(name) in (pid, None):
        await anyio.sleep(0.05)


async def test_the_demo_survives_kill_9_of_everything_and_trains_no_group_twice(demo: Demo) -> None:
    with anyio.fail_after(600):
        supervisor = demo.start()
        async with demo.stream() as stream:
            version = 0
            for name in COMPONENTS:
                version = await next_version(stream, version)
                await kill_component(demo, name)
            version = await next_version(stream, version)
            supervisor.kill()
            await ended(supervisor)
            assert await ended(demo.start()) == 0, demo.said()
            await finish_what_is_left(demo, stream)
            await check_that_nothing_is_lost(demo, stream)
            await check_what_was_trained(demo, stream, versions=VERSIONS)

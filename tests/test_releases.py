"""What everybody reads of the trainer's releases."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

import schemas
from mentor_stream import broker as brokers
from mentor_stream import releases, stream, topics
from mentor_stream.releases import News
from mentor_stream.stream import Stream

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/stream.db"


@pytest.fixture
async def run(url: str) -> AsyncIterator[Stream]:
    async with stream.connect(url, "run", "tester") as connected:
        yield connected


def a_release(version: int, uri: str = "x") -> schemas.PolicyRelease:
    return schemas.PolicyRelease(
        policy_version=version, step=version, uri=uri, digest="d", consumed=schemas.Consumed(), published_at=0
    )


async def publish(run: Stream, *versions: int) -> None:
    for version in versions:
        await run.publish(topics.POLICIES, a_release(version))


async def until(taken: list[int], expected: list[int]) -> None:
    with anyio.fail_after(10):
        while len(taken) < len(expected):
            await anyio.sleep(0.01)
    assert taken == expected


async def test_the_newest_is_the_one_published_last_not_the_highest(run: Stream) -> None:
    assert await releases.newest(run) is None
    await publish(run, 3, 7, 5)
    assert await releases.newest(run) == a_release(5)


async def test_a_follower_has_the_newest_when_it_has_started_and_then_each_that_comes(run: Stream) -> None:
    taken: list[int] = []
    await publish(run, 3, 7, 5)
    async with anyio.create_task_group() as tasks:
        await tasks.start(releases.follow, run, lambda release: taken.append(release.policy_version))
        assert taken == [5]
        await publish(run, 6, 7)
        await until(taken, [5, 6, 7])
        tasks.cancel_scope.cancel()


async def test_a_follower_since_the_first_has_every_release_once(run: Stream) -> None:
    taken: list[int] = []
    await publish(run, 0, 1, 2)
    async with anyio.create_task_group() as tasks:
        await tasks.start(releases.follow, run, lambda release: taken.append(release.policy_version), "first")
        assert taken == [0, 1, 2]
        await publish(run, 3)
        await until(taken, [0, 1, 2, 3])
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("poison", [0, 2])
async def test_a_follower_starts_also_where_no_release_can_be_read(
    run: Stream, url: str, poison: int
) -> None:
    async with brokers.connect(url) as broker, broker.producer() as producer:
        for _ in range(poison):
            await producer.send("run.policies", b"key", b"no release")
    taken: list[int] = []
    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(10):
            await tasks.start(releases.follow, run, lambda release: taken.append(release.policy_version))
        await publish(run, 4)
        await until(taken, [4])
        tasks.cancel_scope.cancel()


async def test_news_wake_all_who_wait_and_nobody_who_comes_later() -> None:
    news, woken = News(), list[str]()

    async def wait(name: str) -> None:
        await news.wait()
        woken.append(name)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait, "one")
        tasks.start_soon(wait, "another")
        await anyio.wait_all_tasks_blocked()
        news.tell()
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(wait, "late")
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert sorted(woken) == ["another", "one"]

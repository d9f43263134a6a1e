"""An engine is kept on the newest policy, also where that comes from far away (see also test_rollout.py)."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from mentor_stream import snapshots, topics
from mentor_stream.snapshots import SnapshotError, StoreError
from mentor_stream.snapshots.store import Store, deadline, name_of
from mentor_stream.stream import Stream, connect
from producers import policy
from producers.policy import NewestPolicy
from schemas import Consumed, PolicyRelease
from tests.producers.scripted import ScriptedEngine, eventually
from tests.storage import Storage

pytestmark = pytest.mark.anyio


class Distant(ScriptedEngine):
    """Its servers fetch by themselves; what becomes of it, a test says."""

    def __init__(self) -> None:
        super().__init__()
        self.fates: list[Exception] = []
        self.fetching: list[int] = []
        self.way = anyio.Event()
        self.is_sent = False

    def fetches(self, uri: str) -> bool:
        return self.is_sent or snapshots.local(uri) is None

    async def load_from(self, uri: str, digest: str, version: int) -> None:
        self.fetching.append(version)
        if self.fates:
            raise self.fates.pop(0)
        await self.way.wait()
        self.version = version


@pytest.fixture
async def stream(tmp_path: Path) -> AsyncIterator[Stream]:
    async with connect(f"sqlite:///{tmp_path}/stream.db", "test", "test") as stream:
        yield stream


async def release(stream: Stream, version: int, uri: str = "s3://bucket/v", digest: str = "d") -> None:
    record = PolicyRelease(
        policy_version=version, step=version, uri=uri, digest=digest, consumed=Consumed(), published_at=0.0
    )
    await stream.publish(topics.POLICIES, record)


async def test_while_a_policy_is_on_its_way_sampling_goes_on_with_the_one_there_is(stream: Stream) -> None:
    engine = Distant()
    engine.version = 3
    newest = NewestPolicy(stream, engine)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(newest.follow)
        await release(stream, 4)
        await eventually(lambda: engine.fetching == [4])
        with anyio.fail_after(5):
            await newest.refresh()
        assert engine.version == 3
        engine.way.set()
        await eventually(lambda: engine.version == 4)
        tasks.cancel_scope.cancel()


async def test_a_policy_that_is_sent_is_not_looked_for_where_it_lies(stream: Stream) -> None:
    engine = Distant()
    engine.version, engine.is_sent = 3, True
    newest = NewestPolicy(stream, engine)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(newest.follow)
        await release(stream, 4, uri="/on/the/trainer's/disk/v4")
        await eventually(lambda: engine.fetching == [4])
        with anyio.fail_after(5):
            await newest.refresh()
        assert engine.version == 3
        engine.way.set()
        await eventually(lambda: engine.version == 4)
        tasks.cancel_scope.cancel()


async def test_a_worker_without_any_policy_says_so_and_waits_for_the_first(
    stream: Stream, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="producers")
    engine = Distant()
    newest = NewestPolicy(stream, engine)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(newest.follow)
        await eventually(lambda: bool(caplog.messages))
        assert caplog.messages == ["waiting for a policy: the trainer has released none yet"]
        await release(stream, 0)
        await eventually(lambda: engine.fetching == [0])
        engine.way.set()
        with anyio.fail_after(5):
            await newest.refresh()
        assert engine.version == 0
        assert len(caplog.messages) == 1
        tasks.cancel_scope.cancel()


async def test_a_worker_that_starts_on_a_run_with_a_policy_does_not_say_that_it_waits(
    stream: Stream, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="producers")
    await release(stream, 0)
    engine = Distant()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(NewestPolicy(stream, engine).follow)
        await eventually(lambda: engine.fetching == [0])
        assert caplog.messages == []
        tasks.cancel_scope.cancel()


async def test_a_store_that_is_away_is_asked_again_and_what_is_gone_is_not(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "AGAIN_SECONDS", 0.01)
    engine = Distant()
    engine.way.set()
    engine.fates = [StoreError("away"), StoreError("away"), SnapshotError("gone")]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(NewestPolicy(stream, engine).follow)
        await release(stream, 1)
        await eventually(lambda: engine.fetching == [1, 1, 1])
        await release(stream, 1)  # fresh counters alone
        await release(stream, 2)
        await eventually(lambda: engine.version == 2)
        assert engine.fetching == [1, 1, 1, 2]
        tasks.cancel_scope.cancel()


async def test_a_policy_that_was_gone_and_is_there_again_is_taken_while_it_is_the_newest(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "GONE_SECONDS", 0.01)
    engine = Distant()
    engine.way.set()
    engine.fates = [SnapshotError("damaged"), SnapshotError("damaged still")]
    newest = NewestPolicy(stream, engine)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(newest.follow)
        await release(stream, 1)
        with anyio.fail_after(60):
            await newest.refresh()
        assert (engine.version, engine.fetching) == (1, [1, 1, 1])
        tasks.cancel_scope.cancel()


async def test_an_engine_that_reads_files_gets_them_fetched(
    stream: Stream, storage: Storage, tmp_path: Path, tiny_policy: Path
) -> None:
    def fill(draft: Path) -> None:
        for file in tiny_policy.iterdir():
            (draft / file.name).write_bytes(file.read_bytes())

    snapshot = snapshots.write(tmp_path, 2, fill)
    name = name_of(2, snapshot.digest)
    Store(storage.url, deadline(60)).put(snapshot.path, name, snapshot.digest)
    loaded: list[list[str]] = []

    class Reading(ScriptedEngine):
        async def load(self, path: Path, version: int) -> None:
            snapshots.verify(path, snapshot.digest)
            loaded.append(sorted(file.name for file in path.iterdir()))
            self.version = version

    engine = Reading()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(NewestPolicy(stream, engine).follow)
        await release(stream, 2, f"{storage.url}/{name}", snapshot.digest)
        await eventually(lambda: engine.version == 2, 60)
        tasks.cancel_scope.cancel()
    assert loaded == [sorted(file.name for file in snapshot.path.iterdir())]

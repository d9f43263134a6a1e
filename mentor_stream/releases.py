"""The trainer's releases, as everybody reads them: those there are, then each as it comes.

The one published last counts, not the highest version: a trainer that fell back to its checkpoint publishes
lower versions again, with other weights.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import anyio
import anyio.to_thread
from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskStatus

from mentor_stream import snapshots, topics
from mentor_stream.stream import Stream
from schemas import PolicyRelease


@asynccontextmanager
async def snapshot(release: PolicyRelease) -> AsyncGenerator[Path]:
    """The release's snapshot on this machine, verified, while it is used; fetched, if it is in a store.

    Raises SnapshotError; StoreError when trying again later may help.
    """
    # Given up when cancelled: a store may take its time to say that it is away.
    held = await anyio.to_thread.run_sync(snapshots.hold, release.uri, release.digest, abandon_on_cancel=True)
    with held as path:
        yield path


async def newest(stream: Stream) -> PolicyRelease | None:
    """The release published last, if there is one."""
    last = await stream.tail(topics.POLICIES)
    async with stream.reader(topics.POLICIES, start=last, follow=False) as past:
        found = [delivery.record async for delivery in past]
    return found[-1] if found else None


async def follow(
    stream: Stream,
    take: Callable[[PolicyRelease], None],
    since: Literal["newest", "first"] = "newest",
    *,
    task_status: TaskStatus[None] = TASK_STATUS_IGNORED,
) -> None:
    """Let `take` have the releases in their order, each once, until cancelled.

    Begins with the newest there is, or with the first of the run. Has started once `take` had all there are.
    """
    begin = await stream.tail(topics.POLICIES) if since == "newest" else "earliest"
    ends = await stream.offsets(topics.POLICIES, "latest")
    async with stream.reader(topics.POLICIES, start=begin, follow=False) as past:
        async for delivery in past:
            take(delivery.record)
            partition, offset = delivery.message.place, delivery.message.offset
            ends[partition] = max(ends[partition], offset + 1)  # what came after we asked for the ends
    task_status.started()
    async with stream.reader(topics.POLICIES, start=ends) as coming:
        async for delivery in coming:
            take(delivery.record)


class News:
    """Wakes the tasks that wait for the next release, again and again."""

    def __init__(self) -> None:
        self._told = anyio.Event()

    def tell(self) -> None:
        """Wake all who wait now."""
        self._told.set()
        self._told = anyio.Event()

    async def wait(self) -> None:
        """Wait until something is told from now on."""
        await self._told.wait()

"""An engine on a released policy: put on one, or kept on the newest."""

import logging
import math
from collections.abc import Iterable
from pathlib import Path

import anyio

from mentor_stream import releases, snapshots
from mentor_stream.config import RunConfig
from mentor_stream.releases import News
from mentor_stream.snapshots import SnapshotError, StoreError
from mentor_stream.stream import Stream
from producers.engines.base import Elsewhere, Engine
from schemas import PolicyRelease

AGAIN_SECONDS = 15.0
"""Before a store that did not do is tried again."""
GONE_SECONDS = 60.0
"""Before a snapshot that is gone or damaged is looked at again, while it is the newest: a trainer that starts
again writes it anew, and waits for samples of it."""

log = logging.getLogger(__name__)


async def install(engine: Engine, release: PolicyRelease, first: Path | None = None) -> None:
    """Load the release's snapshot, verified; or version 0 from where it stays, the directory `first`.

    Raises SnapshotError when it is gone or damaged, StoreError when the store, or the way to it, does not do.
    """
    if isinstance(engine, Elsewhere) and engine.fetches(release.uri):
        await engine.load_from(release.uri, release.digest, release.policy_version)
        return
    if release.policy_version == 0 and first is not None:
        await engine.load(first, 0)
        return
    async with releases.snapshot(release) as path:
        await engine.load(path, release.policy_version)


def is_remote(engine: Engine, release: PolicyRelease) -> bool:
    """Whether the snapshot has to be fetched, or sent."""
    if isinstance(engine, Elsewhere) and engine.fetches(release.uri):
        return True
    return snapshots.local(release.uri) is None


def check(run: RunConfig) -> Iterable[str]:
    """Why policies cannot be fetched on this machine."""
    if run.snapshots and (problem := snapshots.missing(run.snapshots)):
        yield problem


class NewestPolicy:
    """Keeps an engine on the newest release: at once, also while it samples."""

    def __init__(self, stream: Stream, engine: Engine) -> None:
        self._stream, self._engine = stream, engine
        self._newest: PolicyRelease | None = None
        self._tried: tuple[int, str] | None = None
        self._again = math.inf
        """When what was tried last is new again, on anyio's clock."""
        self._news = News()
        self._turn = anyio.Lock()

    async def follow(self) -> None:
        """Keep up with the releases until cancelled."""
        async with anyio.create_task_group() as tasks:
            await tasks.start(releases.follow, self._stream, self._take)
            if self._newest is None and self._engine.version is None:
                log.info("waiting for a policy: the trainer has released none yet")
            while True:
                await self._keep_up()
                while not self._is_new(self._newest):
                    await self._wait()

    async def refresh(self) -> None:
        """Load the newest release unless it is in use already; one that has to be fetched comes by itself."""
        if self._engine.version is None or not (self._newest and is_remote(self._engine, self._newest)):
            await self._keep_up()

    async def _keep_up(self) -> None:
        """Load the newest release unless it is in use already.

        A snapshot that is gone was overtaken by newer ones: the weights in use will do until the next
        release is read, and when there are none yet, that one is waited for, or this one to be there again.
        """
        async with self._turn:
            while True:
                release = self._newest
                if release and self._is_new(release):
                    if await self._installed(release):
                        return
                elif self._engine.version is not None:
                    return
                else:
                    await self._wait()

    async def _installed(self, release: PolicyRelease) -> bool:
        self._tried, self._again = (release.policy_version, release.digest), math.inf
        try:
            await install(self._engine, release)
        except StoreError as error:
            log.warning("policy %d is waited for: %s", release.policy_version, error)
            self._again = anyio.current_time() + AGAIN_SECONDS
            return False
        except SnapshotError as error:
            log.warning("policy %d is left out: %s", release.policy_version, error)
            self._again = anyio.current_time() + GONE_SECONDS
            return False
        return True

    async def _wait(self) -> None:
        """Until there is news, or what was tried last may be tried again."""
        with anyio.CancelScope(deadline=self._again):
            await self._news.wait()

    def _is_new(self, release: PolicyRelease | None) -> bool:
        if release is None:
            return False
        tried = (release.policy_version, release.digest) == self._tried
        return not tried or anyio.current_time() >= self._again

    def _take(self, release: PolicyRelease) -> None:
        self._newest = release
        self._news.tell()

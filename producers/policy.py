"""An engine on a released policy: put on one, or kept on the newest."""

import logging

import anyio
import anyio.to_thread

from mentor_stream import releases, snapshots
from mentor_stream.releases import News
from mentor_stream.snapshots import SnapshotError
from mentor_stream.stream import Stream
from producers.engines.base import Engine
from schemas import PolicyRelease

log = logging.getLogger(__name__)


async def install(engine: Engine, release: PolicyRelease) -> None:
    """Verify the release's snapshot and load it. Raises SnapshotError when it is gone or damaged."""
    path = releases.place(release)
    await anyio.to_thread.run_sync(snapshots.verify, path, release.digest)
    await engine.load(path, release.policy_version)


class NewestPolicy:
    """Keeps an engine on the newest release: at once, also while it samples."""

    def __init__(self, stream: Stream, engine: Engine) -> None:
        self._stream, self._engine = stream, engine
        self._newest: PolicyRelease | None = None
        self._tried: tuple[int, str] | None = None
        self._news = News()
        self._turn = anyio.Lock()

    async def follow(self) -> None:
        """Keep up with the releases until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(releases.follow, self._stream, self._take)
            while True:
                await self.refresh()
                while not self._is_new(self._newest):
                    await self._news.wait()

    async def refresh(self) -> None:
        """Load the newest release unless it is in use already.

        A snapshot that is gone was overtaken by newer ones: the weights in use will do until the next
        release is read, and when there are none yet, that one is waited for.
        """
        async with self._turn:
            while True:
                release = self._newest
                if release and self._is_new(release):
                    self._tried = (release.policy_version, release.digest)
                    try:
                        return await install(self._engine, release)
                    except SnapshotError as error:
                        log.warning("policy %d is left out: %s", release.policy_version, error)
                elif self._engine.version is not None:
                    return None
                else:
                    await self._news.wait()

    def _is_new(self, release: PolicyRelease | None) -> bool:
        return release is not None and (release.policy_version, release.digest) != self._tried

    def _take(self, release: PolicyRelease) -> None:
        self._newest = release
        self._news.tell()

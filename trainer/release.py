"""Released policies: the snapshot on disk and the word on the stream."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from mentor_stream import snapshots, topics
from schemas import Consumed, PolicyRelease
from trainer.intake.stream import TrainerStream

REFRESH_SECONDS = 0.5
"""Shortest time between two words on the same version."""


class Releases:
    """Writes snapshots and announces them; announces the newest one again when only the counters moved."""

    def __init__(self, directory: Path, stream: TrainerStream, keep: int) -> None:
        self.directory, self.stream, self.keep = directory, stream, keep
        self._last: PolicyRelease | None = None

    def publish(
        self,
        version: int,
        step: int,
        consumed: Consumed,
        fill: Callable[[Path], None],
        *,
        final: bool = False,
    ) -> None:
        """Write the snapshot of a version and announce it; on return both are durable."""
        if self._last and self._last.policy_version == version:
            uri, digest = self._last.uri, self._last.digest
        else:
            self._remove_newer(version)
            path, digest = snapshots.write(self.directory, version, fill)
            uri = str(path.resolve())
        self._announce(
            PolicyRelease(
                policy_version=version,
                step=step,
                uri=uri,
                digest=digest,
                consumed=consumed,
                final=final,
                published_at=time.time(),
            )
        )
        snapshots.prune(self.directory, self.keep)

    def refresh(self, consumed: Consumed) -> None:
        """Tell the feeder when the counters moved and no new version came."""
        last = self._last
        if last and last.consumed != consumed and time.time() - last.published_at >= REFRESH_SECONDS:
            self._announce(replace(last, consumed=consumed, published_at=time.time()))

    def _announce(self, release: PolicyRelease) -> None:
        self.stream.publish(topics.POLICIES, release)
        self._last = release

    def _remove_newer(self, version: int) -> None:
        """Remove the snapshots of a future that a resume took back.

        They would look newest when old ones are removed, and may be what fills the disk.
        """
        for path in snapshots.versions(self.directory):
            if int(path.name[1:]) > version:
                shutil.rmtree(path)

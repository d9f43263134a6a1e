"""Released policies: the snapshot where readers find it and the word on the stream, which comes second."""

import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from msgspec.structs import replace

from mentor_stream import snapshots, topics
from mentor_stream.config import RunConfig
from schemas import Consumed, PolicyRelease
from trainer.config import TrainerConfig
from trainer.intake.stream import TrainerStream
from trainer.uploads import Uploads

REFRESH_SECONDS = 0.5
"""Shortest time between two words on the same version."""


class Releases:
    """Writes snapshots and announces them; announces the newest one again when only the counters moved.

    With a store a snapshot is announced once it is there: that takes time, in which training goes on and
    nothing else is released.
    """

    def __init__(
        self, directory: Path, stream: TrainerStream, keep: int, uploads: Uploads | None = None
    ) -> None:
        self.directory, self.stream, self.keep, self._uploads = directory, stream, keep, uploads
        self._last: PolicyRelease | None = None
        self._consumed = Consumed()
        self._announced_at = 0.0
        """Of time.monotonic: the machine's clock may be set back."""
        self._turn = Lock()
        """A word on an older version must not follow that on a newer one, which the upload's thread has."""

    @property
    def ready(self) -> bool:
        """Whether the next may be published. Raises StoreError when the last did not get into the store."""
        return self._uploads is None or not self._uploads.busy

    @property
    def place(self) -> str:
        """Where the version that was announced last is."""
        return self._last.uri if self._last else str(self.directory)

    def publish(
        self,
        version: int,
        step: int,
        consumed: Consumed,
        fill: Callable[[Path], None],
        *,
        final: bool = False,
    ) -> None:
        """Write the snapshot of a version and announce it; on return the snapshot is durable.

        So is the announcement, but with a store only once this is `ready` again, as it has to be before.
        """
        self._consumed = consumed
        if self._last and self._last.policy_version == version:
            self._announce(replace(self._last, final=final))
            return
        snapshots.take_back(self.directory, version)
        snapshot = snapshots.write(self.directory, version, fill)
        self._publish(
            snapshot,
            PolicyRelease(
                policy_version=version,
                step=step,
                uri=str(snapshot.path.resolve()),
                digest=snapshot.digest,
                consumed=consumed,
                final=final,
                published_at=0.0,
            ),
        )
        snapshots.prune(self.directory, self.keep)

    def refresh(self, consumed: Consumed) -> None:
        """Tell the feeder when the counters moved and no new version came."""
        self._consumed = consumed
        last, quiet = self._last, time.monotonic() - self._announced_at
        if last and last.consumed != consumed and quiet >= REFRESH_SECONDS:
            self._announce(last)

    def _publish(self, snapshot: snapshots.Snapshot, release: PolicyRelease) -> None:
        if self._uploads is None:
            self._announce(release)
            return
        self._uploads.begin(
            snapshot, release.policy_version, lambda uri: self._announce(replace(release, uri=uri))
        )

    def _announce(self, release: PolicyRelease) -> None:
        """Publish it with the counters as they are by now, unless a newer one was."""
        with self._turn:
            if self._last and self._last.policy_version > release.policy_version:
                return
            self._last = replace(release, consumed=self._consumed, published_at=time.time())
            self._announced_at = time.monotonic()
            self.stream.publish(topics.POLICIES, self._last)


def releases(run: RunConfig, settings: TrainerConfig, stream: TrainerStream) -> Releases:
    """Of a run, where its config has them."""
    uploads = None
    if run.snapshots is not None and snapshots.local(run.snapshots) is None:
        url = f"{run.snapshots.rstrip('/')}/{run.name}"
        uploads = Uploads(url, settings.keep_snapshots, settings.upload_seconds)
    return Releases(place(run), stream, settings.keep_snapshots, uploads)


def place(run: RunConfig) -> Path:
    """The trainer's own directory of snapshots."""
    named = None if run.snapshots is None else snapshots.local(run.snapshots)
    return run.directory / "snapshots" if named is None else named / run.name

"""Snapshots into the store, beside training: one at a time, each within its time, or the run ends."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from mentor_stream.metrics.catalogue.trainer import UPLOAD_RETRIES, UPLOAD_SECONDS
from mentor_stream.metrics.readings import OWN as READINGS
from mentor_stream.snapshots import Snapshot, StoreError
from mentor_stream.snapshots.attempts import beside
from mentor_stream.snapshots.store import Store, deadline, name_of, superseded

TIDY_SECONDS = 15.0
"""For removing old snapshots, before the next upload: what is not done then is done after it."""

log = logging.getLogger(__name__)


class Uploads:
    """Of one run, whose snapshots are all that is under the URL."""

    def __init__(self, url: str, keep: int, seconds: float) -> None:
        self.url, self.keep, self.seconds = url.rstrip("/"), keep, seconds
        self._under_way: Future[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a snapshot is on its way. Raises what became of the last one, if it failed."""
        if self._under_way is not None and self._under_way.done():
            done, self._under_way = self._under_way, None
            done.result()
        return self._under_way is not None

    def begin(self, snapshot: Snapshot, version: int, arrived: Callable[[str], None]) -> None:
        """Bring a snapshot there while the caller goes on; `arrived` has its URI then, in another thread."""
        assert not self.busy
        self._under_way = beside(partial(self._bring, snapshot, version, arrived))

    def _bring(self, snapshot: Snapshot, version: int, arrived: Callable[[str], None]) -> None:
        name, began = name_of(version, snapshot.digest), time.monotonic()
        try:
            store = Store(self.url, deadline(self.seconds), again=partial(READINGS.add, UPLOAD_RETRIES, 1))
            store.put(snapshot.path, name, snapshot.digest)
            READINGS.observe(UPLOAD_SECONDS, time.monotonic() - began)
        except (StoreError, FileNotFoundError, ImportError) as error:
            raise StoreError(
                f"policy {version} did not get into run.snapshots within trainer.upload_seconds = "
                f"{self.seconds:g}: {error}. Mend the store, or the way there, and start again; or raise it."
            ) from error
        log.info("policy %d is in the store after %.1f s", version, time.monotonic() - began)
        arrived(f"{self.url}/{name}")
        self._tidy(name)

    def _tidy(self, current: str) -> None:
        """Remove what is superseded, and what a killed trainer left half. Who is reading one hears that it is
        gone, and takes the next."""
        try:
            store = Store(self.url, deadline(TIDY_SECONDS))
            for name in superseded(store.contents(), current, self.keep):
                store.remove(name)
        except (StoreError, FileNotFoundError) as error:
            log.warning("old policies stay in the store until the next release: %s", error)

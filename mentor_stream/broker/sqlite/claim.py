"""Being the only one on one machine: a lock beside the stream's file, which the kernel frees of the dead."""

import fcntl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import IO

import anyio

from mentor_stream.broker.base import BrokerError, Claimed
from mentor_stream.broker.sqlite.location import Location

LOOK_SECONDS = 0.1


@asynccontextmanager
async def claimed(location: Location, group: str, holder: str) -> AsyncGenerator[None]:
    """See Broker.claim. One that is about to leave is waited for, for as long as a lease."""
    path = location.path.resolve()
    place = path.with_name(f"{path.name}.{group}.lock")
    try:
        file = place.open("a+")
    except OSError as error:
        raise BrokerError(
            f"{place} cannot be written ({error.strerror}). Let run.broker name a file where files can be"
        ) from error
    with file:
        with anyio.move_on_after(location.lease) as waiting:
            while not _locked(file):
                await anyio.sleep(LOOK_SECONDS)
        if waiting.cancelled_caught:
            file.seek(0)
            raise Claimed(file.read().strip())
        file.truncate(0)
        file.write(f"{holder}\n")
        file.flush()
        yield


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

"""What a run has one of: a trainer, a feeder, an `up`, from whichever directory or machine it is started."""

import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from mentor_stream import topics
from mentor_stream.broker.base import BrokerUnavailable, Claimed
from mentor_stream.config import Config
from mentor_stream.stream import Stream


class Taken(BrokerUnavailable):
    """The run has another one, which may be about to leave: a pod that ends while the next one starts."""


@asynccontextmanager
async def only(stream: Stream, config: Config) -> AsyncGenerator[None]:
    """Be the run's only one of the stream's component, for the block.

    Raises Taken where there is another, or comes to be one because this process hung; BrokerError.
    """
    here = f"process {os.getpid()} on {socket.gethostname()}, run.directory {config.run.directory.resolve()}"
    group = f"{stream.run}.{stream.component}"
    try:
        async with stream.broker.claim(stream.name(topics.POLICIES), group=group, holder=here):
            yield
    except Claimed as other:
        raise Taken(
            f"run.name is {stream.run!r}: on this broker that run has its {stream.component} already "
            f"({other}), and a run has one. Stop that one first, or set run.name and run.directory to others"
        ) from other

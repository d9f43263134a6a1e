"""For those who come before their topics: whoever creates them may be late, or a person."""

import logging
from collections.abc import Collection

import anyio

from mentor_stream.broker.base import Broker

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5


async def wait_for_topics(broker: Broker, names: Collection[str]) -> None:
    """Returns when all of them exist, however long that takes; says which it waits for."""
    told: set[str] = set()
    while missing := set(names) - set(await broker.topics()):
        if missing != told:
            named = ", ".join(sorted(missing))
            log.warning("waiting for the topics %s: `mentor-stream topics create` makes them", named)
            told = missing
        await anyio.sleep(LOOK_SECONDS)

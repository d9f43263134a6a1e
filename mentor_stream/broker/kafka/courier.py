"""Brings messages from the event loop to kafka-python's producer, and back how each of them ended.

A small one for a topic that the client knows is appended at once: that waits for nothing, and a thread's turn
would cost as much again. The others go by the client's thread, where it may look for their topics.
"""

import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

from kafka import KafkaProducer as RawProducer
from kafka import errors

from mentor_stream.broker.kafka.appending import append, send
from mentor_stream.broker.kafka.handover import Handover
from mentor_stream.broker.kafka.parcel import Parcel

METADATA_WAIT_MS = 2000
"""So long a topic that the client does not find holds up the messages of the others..."""
MISSING_SECONDS = 1.0
"""...and so long it does not do so again."""
AT_ONCE_BYTES = 2**18
"""Larger messages are copied in the thread: the loop has other things to do meanwhile."""


class Courier:
    """What kafka-python said of a parcel goes to `ended`, on the loop.

    That is its metadata, its error, or None when it did not find the topic.
    """

    def __init__(self, ended: Handover[tuple[Parcel, Any]]) -> None:
        self._ended = ended
        self._queue: SimpleQueue[Parcel | None] = SimpleQueue()
        self._missing: dict[str, float] = {}
        self._raw: RawProducer | None = None
        self._queued = self._brought = 0
        """Parcels for the thread, ever. The loop alone counts the one, the thread alone the other."""

    def take(self, parcel: Parcel) -> None:
        """The next one to bring. None overtakes those that wait for their topic to be found."""
        small = parcel.size <= AT_ONCE_BYTES
        at_once = small and self._raw is not None and self._queued == self._brought
        if not (at_once and self._bring(append, self._raw, parcel)):
            self._queued += 1
            self._queue.put(parcel)

    def stop(self) -> None:
        """End `serve`."""
        self._queue.put(None)

    def serve(self, raw: RawProducer) -> None:
        """In the client's thread, until `stop`."""
        self._raw = raw
        while (parcel := self._queue.get()) is not None:
            if time.monotonic() < self._missing.get(parcel.topic, 0):
                self._ended.put((parcel, None))
            else:
                self._bring(send, raw, parcel)
            self._brought += 1
        self._raw = None

    def _bring(self, way: Callable[[Any, Parcel], Any], raw: Any, parcel: Parcel) -> bool:
        """Whether that way knows the topic."""
        try:
            future = way(raw, parcel)
            if future is None:
                return False
            # this runs in kafka-python's network thread: nothing there may wait for the event loop
            future.add_both(partial(self._end, parcel))
        except errors.KafkaTimeoutError:
            self._missing[parcel.topic] = time.monotonic() + MISSING_SECONDS
            self._ended.put((parcel, None))
        except Exception as error:
            self._ended.put((parcel, error))
        return True

    def _end(self, parcel: Parcel, end: Any) -> None:
        self._ended.put((parcel, end))

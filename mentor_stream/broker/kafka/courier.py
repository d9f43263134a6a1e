"""Brings messages from the event loop to kafka-python's producer, and back how each of them ended."""

import time
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Any

import anyio
from kafka import KafkaProducer as RawProducer
from kafka import errors

from mentor_stream.broker.base import Receipt
from mentor_stream.broker.kafka.handover import Handover

METADATA_WAIT_MS = 2000
"""So long a topic that the client does not find holds up the messages of the others..."""
MISSING_SECONDS = 1.0
"""...and so long it does not do so again."""


@dataclass(slots=True, eq=False)
class Parcel:
    """A message on its way, and how it ended."""

    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]
    size: int
    since: float
    settled: anyio.Event = field(default_factory=anyio.Event)
    end: Receipt | Exception | None = None
    awaited: bool = True


class Courier:
    """What kafka-python said of a parcel goes to `ended`, on the loop.

    That is its metadata, its error, or None when it did not find the topic.
    """

    def __init__(self, ended: Handover[tuple[Parcel, Any]]) -> None:
        self._ended = ended
        self._queue: SimpleQueue[Parcel | None] = SimpleQueue()
        self._missing: dict[str, float] = {}

    def take(self, parcel: Parcel) -> None:
        """The next one to bring."""
        self._queue.put(parcel)

    def stop(self) -> None:
        """End `serve`."""
        self._queue.put(None)

    def serve(self, raw: RawProducer) -> None:
        """In the client's thread, until `stop`."""
        while (parcel := self._queue.get()) is not None:
            if time.monotonic() < self._missing.get(parcel.topic, 0):
                self._ended.put((parcel, None))
            else:
                self._append(raw, parcel)

    def _append(self, raw: RawProducer, parcel: Parcel) -> None:
        try:
            future: Any = raw.send(parcel.topic, parcel.value, key=parcel.key, headers=parcel.headers)
        except errors.KafkaTimeoutError:
            self._missing[parcel.topic] = time.monotonic() + MISSING_SECONDS
            self._ended.put((parcel, None))
        except Exception as error:
            self._ended.put((parcel, error))
        else:
            # this runs in kafka-python's network thread: nothing there may wait for the event loop
            future.add_both(partial(self._end, parcel))

    def _end(self, parcel: Parcel, end: Any) -> None:
        self._ended.put((parcel, end))

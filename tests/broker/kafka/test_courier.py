"""The way of messages to kafka-python: at once where that waits for nothing, else by a thread."""

import threading
from itertools import count
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio import to_thread
from kafka.future import Future

from mentor_stream.broker.kafka.courier import Courier
from mentor_stream.broker.kafka.handover import Handover
from mentor_stream.broker.kafka.parcel import Parcel

pytestmark = pytest.mark.anyio


class Client:
    """What the courier knows of kafka-python's producer. It finds the topic when it is told to."""

    def __init__(self) -> None:
        self.appended: list[bytes] = []
        self.threads: set[int] = set()
        self.asked, self.found = threading.Event(), threading.Event()
        self._metadata = SimpleNamespace(_partitions={})
        self._accumulator = SimpleNamespace(append=self._append)
        self._sender = SimpleNamespace(wakeup=lambda: None)

    def send(self, topic: str, value: bytes, **_: Any) -> Future:
        self.asked.set()
        assert self.found.wait(30)
        self._metadata._partitions[topic] = {0: None}
        return self._keep(value)

    def _append(self, _: Any, __: Any, ___: Any, value: bytes, *____: Any) -> tuple[Any, bool, bool, bool]:
        return self._keep(value), False, False, False

    def _keep(self, value: bytes) -> Future:
        self.appended.append(value)
        self.threads.add(threading.get_ident())
        return Future().success(None)


async def test_no_message_overtakes_those_that_wait_for_their_topic_to_be_found():
    client, courier = Client(), Courier(Handover(lambda _: None))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(to_thread.run_sync, courier.serve, client)
        courier.take(parcel(b"0"))
        assert await to_thread.run_sync(client.asked.wait, 30)
        for value in (b"1", b"2", b"3"):
            courier.take(parcel(value))
        assert not client.appended
        client.found.set()
        courier.take(parcel(b"4"))
        numbers = count(5)
        with anyio.fail_after(30):
            while threading.get_ident() not in client.threads:
                courier.take(parcel(b"%d" % next(numbers)))
                await anyio.sleep(0.01)
        courier.stop()
    assert [int(value) for value in client.appended] == list(range(next(numbers)))


def parcel(value: bytes) -> Parcel:
    return Parcel("topic", b"key", value, [], 3, 0.0)

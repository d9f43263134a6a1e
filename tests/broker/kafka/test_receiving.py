"""Taking bytes from a socket, without a cluster."""

import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import errors

from mentor_stream.broker.kafka.receiving import RECEIVE_BYTES, received


class Counting:
    """A socket that counts how often it is asked."""

    def __init__(self, real: socket.socket) -> None:
        self.asked = 0
        self._real = real

    def recv(self, size: int) -> bytes:
        self.asked += 1
        return self._real.recv(size)


@pytest.fixture
def wire() -> Iterator[tuple[socket.socket, Any]]:
    """The far end of a connection, and the transport at the near end."""
    far, near = socket.socketpair()
    near.setblocking(False)
    with far, near:
        yield far, SimpleNamespace(_sock=Counting(near))


def test_what_has_arrived_is_taken_at_once(wire):
    far, transport = wire
    sent = bytes(range(256)) * 128
    far.sendall(sent)
    assert received(transport) == (sent, None)
    assert transport._sock.asked == 2
    assert len(sent) < RECEIVE_BYTES
    assert received(transport) == (b"", None)


def test_what_arrives_with_the_end_comes_before_it(wire):
    far, transport = wire
    far.sendall(b"last words")
    far.close()
    assert received(transport) == (b"last words", None)
    nothing, end = received(transport)
    assert nothing == b""
    assert isinstance(end, errors.KafkaConnectionError)
    assert "socket disconnected" in str(end)


def test_a_connection_that_breaks_says_why(wire):
    _, transport = wire
    transport._sock._real.close()
    nothing, end = received(transport)
    assert nothing == b""
    assert isinstance(end, errors.KafkaConnectionError)
    assert "Bad file descriptor" in str(end)

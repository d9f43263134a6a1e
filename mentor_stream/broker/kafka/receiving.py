"""How bytes are taken from a socket. kafka-python takes 4 kB at a time, at half the speed.

Between two of those any other thread may take the interpreter's lock and keep it for milliseconds.
"""

import ssl
from typing import Any

from kafka import errors

RECEIVE_BYTES = 2**18
_NO_MORE_FOR_NOW = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


def received(transport: Any) -> tuple[bytes, Exception | None]:
    """All that has arrived on a kafka-python transport; or, when that is nothing, why no more will.

    kafka-python throws away what arrives together with the end, such as the answer to a wrong password.
    """
    pieces: list[bytes] = []
    end: Exception | None = None
    try:
        while piece := transport._sock.recv(RECEIVE_BYTES):
            pieces.append(piece)
        end = errors.KafkaConnectionError("socket disconnected")
    except _NO_MORE_FOR_NOW:
        pass
    except OSError as error:
        end = errors.KafkaConnectionError(error)
    return (b"".join(pieces), None) if pieces else (b"", end)

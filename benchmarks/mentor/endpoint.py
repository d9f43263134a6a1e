"""An OpenAI-compatible endpoint that answers every agent alike after a while, and knows when it did.

python -m benchmarks.mentor.endpoint SECONDS prints its port and serves until standard input ends.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.request import urlopen

ANSWER = {
    "root_cause": "The student forgets to carry.",
    "errors": ["no carry"],
    "keywords": ["carry"],
    "hint": "Add the last column first and think about what it leaves over for the next one.",
    "critique": "",
    "verdict": "pass",
}
"""Holds what each agent's reply must have."""


class Answered(NamedTuple):
    """What the endpoint has seen so far."""

    times: list[float]
    """When each reply went out, as time.monotonic tells it."""
    request_bytes: int
    """Of all bodies that came."""


class Endpoint(NamedTuple):
    """A running endpoint."""

    port: int

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def answered(self) -> Answered:
        """Ask it."""
        with urlopen(f"{self.url}/answered", timeout=60) as reply:
            return Answered(*json.load(reply))

    def at(self, count: int, alive: subprocess.Popen[bytes]) -> Answered:
        """What it has seen as soon as it has answered so often. Raises RuntimeError when `alive` is not."""
        while len((seen := self.answered()).times) < count:
            if alive.poll() is not None:
                raise RuntimeError(f"{alive.args} ended with code {alive.returncode}")
            time.sleep(0.5)
        return seen


@contextmanager
def endpoint(seconds: float) -> Generator[Endpoint]:
    """An endpoint for the block that takes so many seconds for a reply."""
    command = [sys.executable, "-m", __name__, str(seconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield Endpoint(int(process.stdout.readline()))
        finally:
            process.kill()


class _Server:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._times: list[float] = []
        self._bytes = 0
        message = {"role": "assistant", "content": json.dumps(ANSWER)}
        self._reply = _http({
            "id": "1", "object": "chat.completion", "created": 0, "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 900, "completion_tokens": 60, "total_tokens": 960},
        })  # fmt: skip

    async def serve(self) -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=4096)
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                if head.startswith(b"get"):
                    writer.write(_http([self._times, self._bytes]))
                else:
                    length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
                    await reader.readexactly(length)
                    self._bytes += length
                    await asyncio.sleep(self._seconds)
                    self._times.append(time.monotonic())
                    writer.write(self._reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def _http(content: object) -> bytes:
    body = json.dumps(content).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


if __name__ == "__main__":
    asyncio.run(_Server(float(sys.argv[1])).serve())

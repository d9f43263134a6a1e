"""A real process that produces or consumes, so that a test can stop it, kill it and ask what it saw.

    produce URL TOPIC KEY COUNT   prints the number of each message once it is acknowledged
    consume URL TOPIC GROUP       prints the value of each message, then is done with it
    hold URL TOPIC GROUP          prints the value of each message; told values on a line of input, it is done
                                  with those in that order and prints "marked"
    claim URL TOPIC GROUP         prints "claimed", and "lost to" whom when it holds that no more

Consumers print "joined" first and leave when their input ends.
"""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from subprocess import PIPE

import anyio
from anyio import to_thread
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from mentor_stream import broker as brokers


class Worker:
    """The test's side of such a process."""

    def __init__(self, process: Process) -> None:
        assert process.stdout is not None
        self.process = process
        self._output = BufferedByteReceiveStream(process.stdout)

    async def line(self) -> str:
        """The next line it prints. Raises IncompleteRead when it prints no more."""
        return (await self._output.receive_until(b"\n", 1_000)).decode()

    async def tell(self, *values: str) -> None:
        """Send a line of input."""
        assert self.process.stdin is not None
        await self.process.stdin.send(f"{' '.join(values)}\n".encode())

    async def leave(self) -> int:
        """End its input and wait; its exit status."""
        assert self.process.stdin is not None
        await self.process.stdin.aclose()
        return await self.process.wait()


@asynccontextmanager
async def worker(*command: str) -> AsyncGenerator[Worker]:
    """Start a worker; it is killed at the end when it still runs."""
    start = [sys.executable, "-m", "tests.broker.worker", *command]
    async with await anyio.open_process(start, stdin=PIPE, stdout=PIPE, stderr=None) as process:
        try:
            yield Worker(process)
        finally:
            if process.returncode is None:
                process.kill()


async def produce(url: str, topic: str, key: str, count: str) -> None:
    async with brokers.connect(url) as broker, broker.producer() as producer:
        for number in range(int(count)):
            await producer.send(topic, key.encode(), f"{key}:{number}".encode())
            print(number, flush=True)  # noqa: T201


async def consume(url: str, topic: str, group: str, *, hold: bool) -> None:
    held: dict[str, brokers.Message] = {}

    async def handle() -> None:
        async for message in consumer:
            held[message.value.decode()] = message
            print(message.value.decode(), flush=True)  # noqa: T201
            if not hold:
                consumer.done(message)

    async with brokers.connect(url) as broker, broker.consumer([topic], group=group) as consumer:
        print("joined", flush=True)  # noqa: T201
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(handle)
            while told := await to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
                for value in told.split():
                    consumer.done(held[value])
                print("marked", flush=True)  # noqa: T201
            tasks.cancel_scope.cancel()


async def claim(url: str, topic: str, group: str) -> None:
    try:
        async with brokers.connect(url) as broker, broker.claim(topic, group=group, holder="a worker"):
            print("claimed", flush=True)  # noqa: T201
            await to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
    except brokers.Claimed as error:
        print(f"lost to {error}", flush=True)  # noqa: T201


async def main(command: str, *arguments: str) -> None:
    if command == "produce":
        await produce(*arguments)
    elif command == "claim":
        await claim(*arguments)
    else:
        await consume(*arguments, hold=command == "hold")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], *sys.argv[2:], backend="trio")

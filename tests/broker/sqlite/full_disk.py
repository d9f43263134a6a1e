"""Fills the disk under a stream, makes room, and prints what came of it: python -m ... DIRECTORY"""

import json
import os
import sys
from pathlib import Path

import anyio

from mentor_stream import broker as brokers
from mentor_stream.broker import EARLIEST, BrokerError, Producer, TopicPartition, TopicSpec

SIZE = 65_000


async def fill(producer: Producer, acknowledged: list[int]) -> str:
    """Send until that is refused; why."""
    while True:
        try:
            acknowledged.append((await producer.send("topic", b"key", os.urandom(SIZE))).offset)
        except BrokerError as error:
            return str(error)


async def main(directory: Path) -> None:
    ballast = directory / "ballast"
    ballast.write_bytes(bytes(30 * SIZE))
    acknowledged: list[int] = []
    url = f"sqlite:///{directory}/stream.db"
    async with brokers.connect(url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec("topic")])
        refusals = [await fill(producer, acknowledged) for _ in range(3)]
        full = len(acknowledged)
        ballast.unlink()
        acknowledged += [(await producer.send("topic", b"key", os.urandom(SIZE))).offset for _ in range(5)]
        refusals.append(await fill(producer, acknowledged))
    # Closed and opened again on a full disk.
    start = {TopicPartition("topic", 0): EARLIEST}
    async with brokers.connect(url) as broker, broker.reader(start, follow=False) as reader:
        kept = [message.offset async for message in reader if len(message.value) == SIZE]
    result = {"refusals": refusals, "full": full, "acknowledged": acknowledged, "kept": kept}
    print(json.dumps(result))  # noqa: T201


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), backend="trio")

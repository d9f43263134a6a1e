"""What a process holds that sends and reads one record after the other, early on and much later.

python -m benchmarks.broker.memory URL TOPIC RECORDS prints that for each tenth of the records, in a process
that has done nothing else.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

import anyio

from benchmarks.broker.engines import Engine
from benchmarks.broker.load import PARTITIONS, Load
from benchmarks.broker.ours import send_all
from benchmarks.rows import Finding, Wanted, row
from mentor_stream.broker import Consumer, TopicSpec, connect
from mentor_stream.broker.background import beside

RECORD_BYTES = 2048
MOST_GROWTH = 50.0
"""Bytes a record: less than the smallest thing one could forget to let go of."""


def memory(engine: Engine, records: int) -> Iterator[Finding]:
    """Resident at the end, beside the first tenth; and the typical growth from one tenth to the next.

    The typical one, since a buffer that fills for the first time is no leak, and one that leaks does always.
    """
    with engine.place() as place:
        command = [sys.executable, "-m", __name__, place.url, place.topic, str(records)]
        tenths = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    name = f"broker.{engine.name}.memory"
    yield row(f"{name}.{records}-records", tenths[-1], "MB", tenths[0]), None
    growth = median(later - earlier for earlier, later in pairwise(tenths)) * 1e6 / (records / 10)
    wanted = Wanted("value", "at most", MOST_GROWTH)
    yield row(f"{name}.growth", growth, "bytes a record", RECORD_BYTES), wanted


async def _pass_through(url: str, topic: str, load: Load) -> list[float]:
    """MB resident, the median within each tenth of the load, through a producer and a consumer at once."""
    async with connect(url) as broker:
        await broker.create_topics([TopicSpec(topic, partitions=PARTITIONS)])
        async with (
            broker.producer() as producer,
            broker.consumer([topic], group="memory") as consumer,
            beside(partial(send_all, producer, topic, load)),
        ):
            return [await _read(consumer, load.count // 10) for _ in range(10)]


async def _read(consumer: Consumer, count: int) -> float:
    looks: list[float] = []
    async for message in consumer:
        consumer.done(message)
        count -= 1
        if count % 100 == 0:
            looks.append(_resident())
        if count == 0:
            break
    return median(looks)


def _resident() -> float:
    """MB of this process in memory now."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1000


if __name__ == "__main__":
    url, topic, records = sys.argv[1:]
    load = Load("2kB", RECORD_BYTES, int(records))
    print(json.dumps(anyio.run(_pass_through, url, topic, load, backend="trio")))

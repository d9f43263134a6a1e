"""How late an event loop comes to other tasks while it reads at full rate."""

import math
import time
from collections.abc import Iterator, Sequence
from functools import partial

import anyio

from benchmarks.broker import ours
from benchmarks.broker.engines import Engine, Place
from benchmarks.broker.load import Load
from benchmarks.rows import Finding, Wanted, row
from mentor_stream.broker.background import beside

TICK = 0.001
MOST_MS = 20.0


def loop_lag(engine: Engine, load: Load, rounds: int) -> Iterator[Finding]:
    """p50, p99 and the worst, beside those of a loop with nothing else to do."""
    with engine.place() as place:
        anyio.run(ours.produce, place.url, place.topic, load, backend="trio")
        busy = sorted(
            late for _ in range(rounds) for late in anyio.run(_reading, place, load, backend="trio")
        )
    idle = sorted(anyio.run(_idle, len(busy), backend="trio"))
    for name, share in ("p50", 0.5), ("p99", 0.99), ("max", 1.0):
        wanted = Wanted("value", "at most", MOST_MS) if name == "p99" else None
        value, baseline = _quantile(busy, share), _quantile(idle, share)
        yield row(f"broker.{engine.name}.loop-lag.{load.name}.{name}", value, "ms", baseline), wanted


async def _reading(place: Place, load: Load) -> list[float]:
    """Lateness in ms of every tick due while records were read at full rate."""
    ticks: list[tuple[float, float]] = []
    async with beside(partial(_tick, ticks)):
        spent = await ours.consume(place.url, place.topic, load)
    return [late for due, late in ticks if spent.began <= due <= spent.began + spent.seconds]


async def _idle(ticks_wanted: int) -> list[float]:
    ticks: list[tuple[float, float]] = []
    await _tick(ticks, ticks_wanted)
    return [late for _, late in ticks]


async def _tick(ticks: list[tuple[float, float]], most: float = math.inf) -> None:
    """Note when each tick was due and how late it came, in ms; `most` of them.

    Ticks are due whether or not those before came late, so that one long wait counts as the many it is.
    """
    due = time.perf_counter()
    while len(ticks) < most:
        due += TICK
        await anyio.sleep(max(0.0, due - time.perf_counter()))
        ticks.append((due, (time.perf_counter() - due) * 1000))


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[math.ceil(share * len(ordered)) - 1]

"""A batch of long rows among data-parallel ranks: bytes for each, and seconds until all can begin.

Beside what it would take to send everybody the groups, for each rank to make its rows and packs of them. The
ranks are processes of this machine, over gloo; `python -m benchmarks.trainer.sharing RANKS` starts them.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import msgspec
import torch
import torch.distributed as dist

from benchmarks.rows import Finding, Wanted, row
from benchmarks.trainer.load import POSITIONS, Load
from mentor_stream.config import parse_section
from schemas import Group
from trainer import launch, ranks
from trainer.config import TrainerConfig
from trainer.packing import encoding
from trainer.packing.shares import Share, shares

LONG = Load("long", hidden=0, layers=0, words=32_000, groups=16, prompt=256, completion=4096)
ROUNDS = 15


@dataclass(frozen=True)
class Way:
    """How a batch comes to the ranks: what rank 0 sends, and what each makes of it."""

    bytes: int
    """That each rank is sent."""
    give: Callable[[], Share]
    """On all ranks: its share."""


def sharing(count: int) -> Iterator[Finding]:
    """Among so many ranks."""
    command = [sys.executable, "-W", "ignore", "-m", __name__, str(count)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    ours, groups = found["shares"], found["groups"]
    yield (
        row(f"trainer.sharing.{count}.bytes", ours["bytes"] / 1e6, "MB", groups["bytes"] / 1e6),
        Wanted("ratio", "at most", 1.1 / count),
    )
    yield (
        row(f"trainer.sharing.{count}.seconds", 1e3 * ours["seconds"], "ms", 1e3 * groups["seconds"]),
        Wanted("ratio", "at most", 1.0),
    )


def _measure(count: int) -> None:
    """On each rank; rank 0 prints."""
    torch.set_num_threads(1)
    ranks.start(seed=0)
    settings = {"data_parallel": count, "max_tokens_per_microbatch": POSITIONS}
    ways = _ways(parse_section(TrainerConfig, settings, "trainer"))
    rounds = [{name: _seconds(way) for name, way in ways.items()} for _ in range(ROUNDS + 1)][1:]
    if ranks.is_lead():
        found = {n: {"bytes": w.bytes, "seconds": median(r[n] for r in rounds)} for n, w in ways.items()}
        sys.stdout.write(json.dumps(found) + "\n")
    ranks.stop()


def _ways(config: TrainerConfig) -> dict[str, Way]:
    groups = LONG.batch
    whole = len(msgspec.msgpack.encode(groups))
    dealt = shares(groups, config)  # made while the step before runs: no part of what is waited for
    sizes = [len(encoding.encode(share)) for share in dealt]

    def give_groups() -> Share:
        if ranks.is_lead():
            ranks.send(msgspec.msgpack.encode(groups))
            return shares(groups, config)[0]
        return shares(msgspec.msgpack.decode(ranks.receive(), type=list[Group]), config)[dist.get_rank()]

    def give_shares() -> Share:
        if ranks.is_lead():
            ranks.scatter([encoding.encode(share) for share in dealt])
            return dealt[0]
        return encoding.decode(ranks.receive_part(sizes))

    return {"groups": Way(whole, give_groups), "shares": Way(max(sizes), give_shares)}


def _seconds(way: Way) -> float:
    dist.barrier()
    began = time.perf_counter()
    way.give()
    dist.barrier()
    return time.perf_counter() - began


if __name__ == "__main__":
    number = int(sys.argv[1])
    if launch.is_rank():
        _measure(number)
    else:
        sys.exit(
            launch.run(
                [sys.executable, "-W", "ignore", "-m", "benchmarks.trainer.sharing", sys.argv[1]], number
            )
        )

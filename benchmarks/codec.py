"""Packing and unpacking a group of 8 x 1,000 tokens, against bare msgpack on the same map.

python -m benchmarks.codec --json
"""

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import msgpack
import numpy as np

import schemas
from benchmarks.rows import Finding, row, show

ROUNDS, REPEATS = 41, 200


def a_large_group() -> schemas.Group:
    """8 trajectories of 1,000 completion tokens, 100 prompt tokens and 4,000 characters of text each."""
    random = np.random.default_rng(0)
    query = schemas.Query(
        query_id="q",
        origin=schemas.Origin.PLAIN,
        position=0,
        attempt=0,
        question="How many? " * 20,
        reference="42",
    )
    trajectory = schemas.Trajectory(
        prompt_ids=schemas.ids(random.integers(0, 150_000, 100)),
        completion_ids=schemas.ids(random.integers(0, 150_000, 1000)),
        logprobs=schemas.floats(-random.random(1000)),
        policy=(schemas.VersionRun(policy_version=1, count=1000),),
        text="x" * 4000,
        reward=0.0,
        verdict=schemas.Verdict.WRONG,
        finish_reason=schemas.FinishReason.STOP,
    )
    return schemas.Group(
        group_id="g",
        query=query,
        trajectories=(trajectory,) * 8,
        sampling=schemas.Sampling(temperature=1.0),
        worker="w",
        sampled_at=0.0,
    )


def microseconds(work: Callable[[], Any]) -> float:
    """Mean time of one call over REPEATS."""
    start = time.perf_counter()
    for _ in range(REPEATS):
        work()
    return (time.perf_counter() - start) / REPEATS * 1e6


def compare(name: str, ours: Callable[[], Any], bare: Callable[[], Any]) -> Finding:
    """Medians of interleaved rounds."""
    pairs = [(microseconds(ours), microseconds(bare)) for _ in range(ROUNDS)]
    return row(name, median(p[0] for p in pairs), "us", median(p[1] for p in pairs)), None


def main() -> None:
    """Print one line per direction."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    as_json = parser.parse_args().json
    group = a_large_group()
    data = schemas.encode(group)
    plain = msgpack.unpackb(data)
    findings = [
        compare("codec.pack", lambda: schemas.encode(group), lambda: msgpack.packb(plain)),
        compare("codec.unpack", lambda: schemas.decode(data, schemas.Group), lambda: msgpack.unpackb(data)),
    ]
    show(findings, as_json=as_json)


if __name__ == "__main__":
    main()

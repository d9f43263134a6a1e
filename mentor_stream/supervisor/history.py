"""A run's metrics read back from the stream, without what a resume made invalid."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TextIO

import msgspec

import schemas
from mentor_stream import topics
from mentor_stream.stream import Delivery, Stream

PAUSE_SECONDS = 60.0
"""Silence longer than this is taken for a pause between two starts of the run."""


@dataclass
class History:
    """The run's training steps and evaluations, each once, in order."""

    steps: dict[int, schemas.Metric] = field(default_factory=dict[int, schemas.Metric])
    """What the trainer reported, by policy version."""
    evaluations: dict[int, schemas.Metric] = field(default_factory=dict[int, schemas.Metric])
    """What the evaluator reported, by policy version."""
    seconds: float = 0.0
    """Time in which the run was at work, pauses left out."""
    undone: set[int] = field(default_factory=set[int])
    """Offsets of metrics that a later one replaces."""
    _offsets: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    _last: float | None = None

    def add(self, metric: schemas.Metric, offset: int) -> None:
        """Take in the next metric of the topic.

        A trainer that resumes from its checkpoint repeats the versions since: the later ones are what
        happened, and any version beyond them was undone with them.
        """
        if self._last is not None:
            gap = metric.time - self._last
            self.seconds += max(0.0, gap) if gap < PAUSE_SECONDS else 0.0
        self._last = metric.time
        version = metric.policy_version
        if metric.component == "trainer" and version is not None:
            # Versions rise in the order of insertion, so what was undone stands at the end.
            for undone in list(takewhile(lambda known: known >= version, reversed(self.steps))):
                self._undo(self.steps, "trainer", undone)
            self._keep(self.steps, metric, version, offset)
        elif metric.component == "evaluator" and version is not None:
            self._undo(self.evaluations, "evaluator", version)
            self._keep(self.evaluations, metric, version, offset)

    def _keep(
        self, known: dict[int, schemas.Metric], metric: schemas.Metric, version: int, offset: int
    ) -> None:
        known[version] = metric
        self._offsets[metric.component, version] = offset

    def _undo(self, known: dict[int, schemas.Metric], component: str, version: int) -> None:
        if known.pop(version, None) is not None:
            self.undone.add(self._offsets.pop((component, version)))


async def read(stream: Stream) -> History:
    """The history as it stands now. Raises BrokerError."""
    history = History()
    async for delivery in _all(stream):
        history.add(delivery.record, delivery.message.offset)
    return history


async def write_jsonl(stream: Stream, history: History, path: Path) -> None:
    """Every metric that stands, one JSON object a line, in the order of the topic; replaces the file."""
    draft = path.with_name(f".{path.name}.draft")
    with draft.open("w", encoding="utf-8") as file:
        async for delivery in _all(stream):
            if delivery.message.offset not in history.undone:
                _write(file, delivery.record)
    draft.replace(path)


def _write(file: TextIO, metric: schemas.Metric) -> None:
    fields = msgspec.to_builtins(metric)
    for ours in ("schema", "version"):
        del fields[ours]
    file.write(json.dumps(fields) + "\n")


async def _all(stream: Stream) -> AsyncIterator[Delivery[schemas.Metric]]:
    async with stream.reader(
        topics.METRICS, start="earliest", follow=False, prefetch=1024, on_gap="earliest"
    ) as metrics:
        async for delivery in metrics:
            yield delivery

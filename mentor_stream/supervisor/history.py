"""A run's metrics read back from the stream, without what a resume made invalid."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
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

    steps: dict[int, schemas.Metric] = field(default_factory=dict)
    evaluations: dict[int, schemas.Metric] = field(default_factory=dict)
    """By policy version."""
    seconds: float = 0.0
    """Time in which the run was at work, pauses left out."""
    undone: set[int] = field(default_factory=set)
    """Offsets of metrics that a later one replaces."""
    _offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    _last: float | None = None

    def add(self, metric: schemas.Metric, offset: int) -> None:
        """Take in the next metric of the topic.

        A trainer that resumes from its checkpoint repeats the steps since: the later ones are what happened,
        and any step beyond them was undone with them.
        """
        if self._last is not None:
            gap = metric.time - self._last
            self.seconds += max(0.0, gap) if gap < PAUSE_SECONDS else 0.0
        self._last = metric.time
        if metric.component == "trainer" and "step" in metric.values:
            step = int(metric.values["step"])
            for later in [s for s in reversed(self.steps) if s >= step]:
                self._undo(self.steps, "step", later)
            self.steps[step] = metric
            self._offsets["step", step] = offset
        elif metric.component == "evaluator" and metric.policy_version is not None:
            self._undo(self.evaluations, "evaluation", metric.policy_version)
            self.evaluations[metric.policy_version] = metric
            self._offsets["evaluation", metric.policy_version] = offset

    def _undo(self, known: dict[int, schemas.Metric], kind: str, number: int) -> None:
        if known.pop(number, None) is not None:
            self.undone.add(self._offsets.pop((kind, number)))


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
    async with stream.reader(topics.METRICS, start="earliest", follow=False, prefetch=1024) as metrics:
        async for delivery in metrics:
            yield delivery

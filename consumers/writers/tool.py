"""What `mentor-stream metrics export` does, as it finds it by entry point (mentor_stream/tools.py)."""

from contextlib import aclosing
from functools import partial
from importlib import import_module
from pathlib import Path

import anyio
import msgspec

from consumers import following
from consumers.writers import progress
from consumers.writers.base import Opening, Writer
from consumers.writers.points import advance
from consumers.writers.progress import Progress
from mentor_stream import broker as brokers
from mentor_stream import disk, topics
from mentor_stream.broker import Broker, TopicPartition
from mentor_stream.config import ConfigError, RunConfig
from mentor_stream.process import serve

WRITERS = {
    "tensorboard": ("consumers.writers.tensorboard", "tensorboard"),
    "wandb": ("consumers.writers.weights_and_biases", "wandb"),
}
"""By name: the module, and the library that it needs, which is an extra of the same name."""
FLUSH_SECONDS = 1.0
MOST_WAITING = 1000
"""Records after which is flushed at once: so much at most is done again after a crash."""


def export(run: RunConfig, directory: Path, to: str, *, follow: bool, every: float) -> int:
    """Write what the run's metrics have come to since the last call: so many records of them.

    Raises ConfigError, BrokerError. Asked to stop it keeps its place, and raises SystemExit as components do.
    """
    opened = _writer(to)
    with progress.held(directory):
        before = progress.read(directory, run.name, to)
        with opened(directory, run, before.marks) as writer:
            exporting = Exporting(directory, before, writer, every)
            serve(partial(_export, run, exporting, follow=follow))
    return exporting.written


def _writer(name: str) -> Opening:
    module, library = WRITERS[name]
    try:
        import_module(library)
        return import_module(module).opened
    except ImportError as error:
        raise ConfigError(
            f"--to {name} needs {error.name}, which is not installed: pip install 'mentor-stream[{name}]'"
        ) from error


class Exporting:
    """One export at work: what was read goes to the writer, then the place is kept."""

    def __init__(self, directory: Path, before: Progress, writer: Writer, every: float) -> None:
        self._directory, self._writer, self._every = directory, writer, every
        self._progress, self._waiting, self.written = before, 0, 0
        self.reached = before.reached

    def take(self, event: following.Event) -> None:
        """One more record of the topic."""
        record = event.record if isinstance(event.record, topics.METRICS.record) else None
        self.reached, point = advance(self.reached, event.offset, record, self._every)
        if point is not None:
            self._writer.write(point)
            self.written += 1
        self._waiting += 1
        if self._waiting >= MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Make it durable, and then the place behind it. Raises ConfigError where there is no room for it."""
        if not self._waiting:
            return
        with disk.writing("DIR", self._directory):
            marks = dict(self._writer.flush())
            self._progress = msgspec.structs.replace(self._progress, reached=self.reached, marks=marks)
            progress.write(self._directory, self._progress)
        self._waiting = 0


async def _export(run: RunConfig, exporting: Exporting, *, follow: bool) -> None:
    async with brokers.connect(run.broker, create=False) as broker:
        start = await _start(broker, run.name, exporting.reached.offset)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_flush, exporting)
            try:
                async with aclosing(
                    following.events(broker, run.name, [topics.METRICS], start, follow=follow)
                ) as events:
                    async for event in events:
                        exporting.take(event)
            finally:
                exporting.flush()
            tasks.cancel_scope.cancel()


async def _start(broker: Broker, run: str, offset: int) -> dict[TopicPartition, int]:
    """Where reading goes on. Raises ConfigError when the topic ends before: it is another one."""
    bounds = await broker.bounds(topics.METRICS.of(run))
    for place, bound in bounds.items():
        if bound.next < offset:
            raise ConfigError(
                f"{place.topic} ends at {bound.next}, and DIR has what came up to {offset}: the stream was "
                "made anew. Name another DIR"
            )
    return {place: max(offset, bound.first) for place, bound in bounds.items()}


async def _flush(exporting: Exporting) -> None:
    while True:
        await anyio.sleep(FLUSH_SECONDS)
        exporting.flush()

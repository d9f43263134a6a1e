"""TensorBoard's event files: a run of TensorBoard's for each series, written record by record.

What lies behind the last flush when the process dies is cut off by the next one, so that each point is there
once. Files are those of TensorFlow's `EventsWriter`: framed, with checksums.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog  # pyright: ignore[reportAttributeAccessIssue]
from tensorboard.compat.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]
from tensorboard.summary.writer.record_writer import RecordWriter

from consumers.writers.base import Marks
from consumers.writers.points import Point
from mentor_stream import disk
from mentor_stream.config import ConfigError, RunConfig

NAME = "events.out.tfevents.0.mentor-stream"


class EventFiles:
    """A Writer of event files, one a series."""

    def __init__(self, directory: Path, marks: Marks) -> None:
        self._directory = directory
        self._sizes = dict(marks)
        self._waiting: dict[str, BytesIO] = {}
        for path in directory.glob(f"*/{NAME}"):
            self._sizes.setdefault(path.parent.name, 0)
        for series, size in self._sizes.items():
            path = directory / series / NAME
            if not path.exists() or path.stat().st_size < size:
                raise ConfigError(
                    f"{path} is not what was written: shorter than {size} bytes. Name another DIR"
                )
            os.truncate(path, size)

    def write(self, point: Point) -> None:
        """See Writer."""
        file = RecordWriter(self._buffer(point))
        if point.rewound:  # TensorBoard forgets the points from this step on
            start = SessionLog(status=SessionLog.START)
            file.write(Event(wall_time=point.time, step=point.step, session_log=start).SerializeToString())
        scalars = [Summary.Value(tag=tag, simple_value=value) for tag, value in point.values.items()]
        summary = Summary(value=scalars)
        file.write(Event(wall_time=point.time, step=point.step, summary=summary).SerializeToString())

    def flush(self) -> Marks:
        """See Writer."""
        for series, waiting in self._waiting.items():
            path = self._directory / series / NAME
            path.parent.mkdir(exist_ok=True)
            with path.open("ab") as file:
                file.write(waiting.getvalue())
                file.flush()
                os.fsync(file.fileno())
            self._sizes[series] = self._sizes.get(series, 0) + len(waiting.getvalue())
        self._waiting.clear()
        return dict(self._sizes)

    def _buffer(self, point: Point) -> BytesIO:
        if point.series not in self._waiting:
            buffer = self._waiting[point.series] = BytesIO()
            if not self._sizes.get(point.series):
                version = Event(wall_time=point.time, file_version="brain.Event:2")
                RecordWriter(buffer).write(version.SerializeToString())
        return self._waiting[point.series]


@contextmanager
def opened(directory: Path, run: RunConfig, marks: Marks) -> Generator[EventFiles]:
    """See Opening."""
    with disk.writing("DIR", directory):
        files = EventFiles(directory, marks)
    yield files

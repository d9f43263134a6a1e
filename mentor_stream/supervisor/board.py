"""What the supervisor sees: metrics and queue depths off the stream, and its own notes."""

import time
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

import anyio

from mentor_stream import topics
from mentor_stream.broker.base import BrokerError, TopicPartition
from mentor_stream.causes import causes
from mentor_stream.config import Config
from mentor_stream.stream import Stream, opened
from mentor_stream.supervisor.drain import Queues, read_queues
from mentor_stream.supervisor.figures import Figures, begin, observe

QUEUE_SECONDS = 1.0
RECONNECT_SECONDS = 2.0


class Note(NamedTuple):
    """Something that happened to a component, in words."""

    number: int
    time: float
    text: str


@dataclass
class Board:
    """The present picture of a run, kept up to date by `follow`."""

    figures: Figures
    started: float = field(default_factory=time.time)
    queues: Queues | None = None
    notes: deque[Note] = field(default_factory=lambda: deque(maxlen=200))
    noted: int = 0
    next_metric: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])

    def note(self, text: str) -> None:
        """Put up a note for the view."""
        self.notes.append(Note(self.noted, time.time(), text))
        self.noted += 1


def new_board(config: Config) -> Board:
    """A board that has seen nothing yet."""
    return Board(begin(config.run))


async def follow(config: Config, board: Board) -> None:
    """Keep the board up to date until cancelled; a broker that is away is waited for.

    The whole history of the metrics comes first, so a resumed run shows its past.
    """
    away = ""
    while True:
        try:
            async with (
                opened(config, "supervisor") as stream,
                anyio.create_task_group() as tasks,
            ):
                away = ""
                tasks.start_soon(_follow_metrics, stream, board)
                tasks.start_soon(_follow_queues, stream, board)
        except* BrokerError as errors:
            reason = str(causes(errors)[0])
            if reason != away:
                board.note(f"nothing new to show while the broker is away: {reason}")
            away = reason
        await anyio.sleep(RECONNECT_SECONDS)


async def _follow_metrics(stream: Stream, board: Board) -> None:
    start, prefetch = board.next_metric, 1024
    async with stream.reader(topics.METRICS, start=start, prefetch=prefetch, on_gap="earliest") as metrics:
        async for delivery in metrics:
            board.figures = observe(board.figures, delivery.record)
            board.next_metric[delivery.message.place] = delivery.message.offset + 1


async def _follow_queues(stream: Stream, board: Board) -> None:
    while True:
        board.queues = await read_queues(stream, time.time())
        await anyio.sleep(QUEUE_SECONDS)

"""What the supervisor sees of the stream."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from mentor_stream import topics
from mentor_stream.broker.base import BrokerUnavailable
from mentor_stream.config import Config, RunConfig
from mentor_stream.stream import Stream, connect, opened
from mentor_stream.supervisor import board as boards
from mentor_stream.telemetry import report
from mentor_stream.topics import TopicsConfig
from tests.builders import a_query
from tests.supervisor.conftest import until

pytestmark = pytest.mark.anyio


def a_config(directory: Path) -> Config:
    broker = f"sqlite:///{directory}/stream.db"
    run = RunConfig(name="small", directory=directory, broker=broker, policy=directory)
    return Config(path=directory / "config.toml", sections={"run": run, "topics": TopicsConfig()})


async def test_the_board_shows_a_runs_past_and_what_waits_in_its_queues(tmp_path: Path) -> None:
    config = a_config(tmp_path)
    async with connect(config.run.broker, "small", "trainer") as stream:
        await report(stream, {"reward": 0.25}, policy_version=7)
        await stream.publish(topics.QUERIES, a_query())
    board = boards.new_board(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(boards.follow, config, board)
        await until(lambda: board.queues is not None and board.figures.version == 7)
        tasks.cancel_scope.cancel()
    assert board.figures.latest == {"reward": 0.25}
    assert board.queues is not None
    assert (board.queues.queries, board.queues.guided, board.queues.written) == (1, 0, 1)


async def test_a_broker_that_is_away_is_noted_once_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = 0

    @asynccontextmanager
    async def flaky(config: Config, component: str) -> AsyncGenerator[Stream]:
        nonlocal attempts
        attempts += 1
        if attempts < 4:
            raise BrokerUnavailable("no answer")
        async with opened(config, component) as stream:
            yield stream

    monkeypatch.setattr(boards, "opened", flaky)
    monkeypatch.setattr(boards, "RECONNECT_SECONDS", 0.01)
    board = boards.new_board(a_config(tmp_path))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(boards.follow, a_config(tmp_path), board)
        await until(lambda: board.queues is not None)
        tasks.cancel_scope.cancel()
    assert [note.text for note in board.notes] == ["nothing new to show while the broker is away: no answer"]

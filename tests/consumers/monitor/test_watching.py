"""How the board hears of a broker that stands still."""

import threading
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from consumers.monitor import watching
from consumers.monitor.board import Board
from consumers.monitor.watching import Watching
from mentor_stream.broker.sqlite.broker import SqliteBroker
from mentor_stream.component import load_config
from tests.consumers.monitor.served import a_lesson, publish
from tests.runs import url, write_config

pytestmark = pytest.mark.anyio


async def test_a_broker_that_stands_still_is_told_while_the_question_to_it_still_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    publish(url(tmp_path), *a_lesson(1))
    monkeypatch.setattr(watching, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(watching, "QUEUE_SECONDS", 0.05)
    stands, goes_on, answer = threading.Event(), threading.Event(), SqliteBroker.lag

    async def lag(broker: SqliteBroker, topic: str, group: str) -> int:
        if stands.is_set():
            await to_thread.run_sync(goes_on.wait)  # as every call to a broker, it is not abandoned
        return await answer(broker, topic, group)

    monkeypatch.setattr(SqliteBroker, "lag", lag)
    board = Board(load_config(Path(write_config(tmp_path))).run)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Watching(url(tmp_path), board).run)
        try:
            with anyio.fail_after(60):
                while not board.stand.asked:
                    await anyio.sleep(0.01)
                stands.set()
                while not board.stand.away:
                    await anyio.sleep(0.01)
                stands.clear()
                goes_on.set()
                while board.stand.away:
                    await anyio.sleep(0.01)
        finally:
            goes_on.set()
        tasks.cancel_scope.cancel()

"""A run that nothing is sampled in yet says what it waits for."""

from pathlib import Path

import anyio
import pytest

import schemas
from mentor_stream.config import RunConfig
from mentor_stream.supervisor import run as runs
from mentor_stream.supervisor.board import Board
from mentor_stream.supervisor.figures import begin, observe
from mentor_stream.supervisor.run import Run
from tests.supervisor.conftest import until
from tests.supervisor.test_child import a_child

pytestmark = pytest.mark.anyio


async def test_until_a_rollout_worker_reports_its_log_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "SILENT_SECONDS", 0.01)
    child = a_child(tmp_path, "true")
    child.log.write_text("one\nwaiting for vLLM at http://127.0.0.1:8000\n")
    config = RunConfig(name="run", directory=tmp_path, broker="x", policy=tmp_path)
    board = Board(begin(config), started=100.0)
    run = Run(None, board, child, [child], child, [], child)  # type: ignore[arg-type]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run._tell_of_silence)
        await until(lambda: board.noted >= 2)
        text = "nothing is sampled yet; rollout.log says: waiting for vLLM at http://127.0.0.1:8000"
        assert {note.text for note in board.notes} == {text}
        metric = schemas.Metric(component="rollout", instance="a", time=101.0, values={"groups": 1.0})
        board.figures = observe(board.figures, metric)
    # It ends by itself: the group is left.

"""Who may work on a run."""

import subprocess
from pathlib import Path

import pytest

from mentor_stream.config import ConfigError
from mentor_stream.supervisor import lock

pytestmark = pytest.mark.anyio


async def test_a_run_is_held_by_one_supervisor_at_a_time(tmp_path: Path) -> None:
    async with lock.hold(tmp_path, patience=1):
        with pytest.raises(lock.RunBusy, match="another mentor-stream up"):
            async with lock.hold(tmp_path, patience=1):
                pass
    async with lock.hold(tmp_path, patience=1):
        pass


async def test_components_of_a_dead_supervisor_are_waited_for_and_then_named(tmp_path: Path) -> None:
    async with lock.hold(tmp_path, patience=1) as held:
        orphan = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(held,))
    with pytest.raises(lock.RunBusy, match="left behind"):
        async with lock.hold(tmp_path, patience=0.2):
            pass
    orphan.communicate()
    async with lock.hold(tmp_path, patience=0.2):
        pass


async def test_a_directory_that_cannot_be_written_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"run.directory is .*file/run': it cannot be written \(Not a dir"):
        async with lock.hold(tmp_path / "file" / "run", patience=0):
            pass

"""A run's config file, and the command line on it."""

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from mentor_stream import cli


class Done(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def mentor_stream(*arguments: str) -> Done:
    """Run the command to its end in this process. Not under an event loop: commands start their own."""
    with (
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as err,
        patch.object(sys, "argv", ["mentor-stream", *arguments]),
    ):
        code = 0
        try:
            cli.main()
        except SystemExit as ending:
            code = ending.code or 0
    assert isinstance(code, int)
    return Done(code, out.getvalue(), err.getvalue())


def as_process(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command to its end in a process of its own."""
    command = [sys.executable, "-m", "mentor_stream.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=cwd)


def as_json(*arguments: str, code: int = 0) -> Any:
    """What the command prints as one JSON document."""
    done = mentor_stream(*arguments, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def write_config(
    directory: Path, *, broker: str = "", name: str = "run", topics: str = "", data: str = ""
) -> str:
    """A config of everything that is needed, and its path."""
    path = directory / f"{name}.toml"
    path.write_text(
        f"""
        [run]
        name = "{name}"
        directory = "{directory}/{name}"
        broker = "{broker or url(directory)}"
        policy = "{directory}"
        [data]
        train = "{directory}/train.jsonl"
        {data}
        [topics]
        {topics}
        """
    )
    return str(path)


def url(directory: Path) -> str:
    """The stream of such a run."""
    return f"sqlite:///{directory}/stream.db"

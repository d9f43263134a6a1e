"""The command line as a user meets it."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.runs import as_process

COMPONENTS = ["feed", "rollout", "mentor", "train", "evaluate"]
COMMANDS = [*COMPONENTS, "up", "check", "eval", "tail", "replay", "compare", "schemas"]
GROUPS = {"topics": ["create", "list", "describe"], "dead-letters": ["list", "show", "requeue", "dismiss"]}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    shown = as_process(command, "--help")
    assert shown.returncode == 0
    assert f"Example: mentor-stream {command}" in shown.stdout


@pytest.mark.parametrize("command", [f"{group} {one}" for group, some in GROUPS.items() for one in some])
def test_every_command_of_a_group_explains_itself_with_an_example(command: str) -> None:
    shown = as_process(*command.split(), "--help")
    assert shown.returncode == 0
    assert f"Example: mentor-stream {command} examples/chain/demo.toml" in shown.stdout
    group, one = command.split()
    assert one in as_process(group, "--help").stdout


@pytest.mark.parametrize("group", ["", *GROUPS, "metrics"])
def test_a_list_of_commands_says_of_each_what_it_does_in_a_whole_line(group: str) -> None:
    commands = as_process(*group.split(), "--help").stdout.partition("Commands:")[2].strip().splitlines()
    assert len(commands) > 1
    assert not [line for line in commands if not line.endswith(".") or line.endswith("...")]


def test_the_version_is_that_of_the_installed_release() -> None:
    shown = as_process("--version")
    assert (shown.returncode, shown.stdout) == (0, f"mentor-stream {version('mentor-stream')}\n")


@pytest.mark.parametrize(
    "command", ["feed", "rollout", "mentor", "train", "evaluate", "up", "topics list", "dead-letters list"]
)
def test_a_missing_config_file_is_one_line_and_no_traceback(command: str, tmp_path: Path) -> None:
    failed = as_process(*command.split(), "nowhere.toml", cwd=tmp_path)
    assert failed.returncode == 2
    assert failed.stderr.startswith("mentor-stream: config file nowhere.toml: no such file")
    assert "Traceback" not in failed.stderr


@pytest.mark.parametrize(
    ("output", "code", "words"),
    [("&-", 0, ""), ("/dev/full", 75, "what it prints cannot be written: No space left on device")],
)
def test_an_output_that_takes_nothing_is_no_traceback(output: str, code: int, words: str) -> None:
    command = [sys.executable, "-m", "mentor_stream.cli", "schemas"]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" >{output}', "sh", *command], capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr


def test_what_an_error_quotes_of_foreign_text_does_nothing_to_the_terminal() -> None:
    done = as_process("size", "no\x1b[2J\r\udcff\u202ewhere.toml")
    assert done.returncode == 2
    assert "config file no\\x1b[2J\\r\\udcff\\u202ewhere.toml: no such file" in done.stderr
    assert len(done.stderr.splitlines()) == 1

"""The command line as a user meets it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = ["feed", "rollout", "mentor", "train", "evaluate", "up", "check", "schemas"]
GROUPS = {"topics": ["create", "list", "describe"], "dead-letters": ["list", "show", "requeue"]}


def mentor_stream(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mentor_stream.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=cwd)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    shown = mentor_stream(command, "--help")
    assert shown.returncode == 0
    assert f"Example: mentor-stream {command}" in shown.stdout


@pytest.mark.parametrize("command", [f"{group} {one}" for group, some in GROUPS.items() for one in some])
def test_every_command_of_a_group_explains_itself_with_an_example(command: str) -> None:
    shown = mentor_stream(*command.split(), "--help")
    assert shown.returncode == 0
    assert f"Example: mentor-stream {command} examples/chain/demo.toml" in shown.stdout
    assert command.split()[1] in mentor_stream(command.split()[0], "--help").stdout


def test_the_schemas_are_exported_as_json() -> None:
    exported = json.loads(mentor_stream("schemas", "--json").stdout)
    assert "group" in exported["records"]


def test_check_names_every_problem_and_exits_with_2(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[run]\nname = 'x'\n[rollout]\ngroup_size = 1\n")
    checked = mentor_stream("check", "bad.toml", cwd=tmp_path)
    assert checked.returncode == 2
    assert "run.policy is missing" in checked.stderr
    assert "rollout.group_size is 1" in checked.stderr
    as_json = json.loads(mentor_stream("check", "bad.toml", "--json", cwd=tmp_path).stdout)
    assert as_json["ok"] is False
    assert as_json["problems"] == checked.stderr.splitlines()


PLUGIN = """
from mentor_stream.config import Section
print("imported")
class Config(Section): pass
def build(config): raise RuntimeError("no tools")
"""


def test_whatever_plugins_do_check_prints_json_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "chatty.py").write_text(PLUGIN)
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(7)\n")
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "config.json").write_text("[]")
    (tmp_path / "own.toml").write_text(
        "[run]\nname = 'x'\ndirectory = 'x'\nbroker = 'sqlite:///x.db'\npolicy = 'policy'\n"
        "[data]\ntrain = 'policy'\n[reward]\nverifier = {kind = 'own.chatty'}\n"
        "[rollout]\nengine = {kind = 'leaves:X'}\n[mentor]\nguide = {kind = '..x'}\n"
    )
    checked = mentor_stream("check", "own.toml", "--json", cwd=tmp_path)
    problems = json.loads(checked.stdout)["problems"]
    assert checked.returncode == 2
    assert "Traceback" not in checked.stderr
    for words in (
        "max_versions and data.epochs are missing",
        "data.train is 'policy': not a file",
        "reward.verifier.kind is 'own.chatty': its build raised RuntimeError: no tools",
        "rollout.engine.kind is 'leaves:X': importing it raised SystemExit: 7",
        "mentor.guide.kind is '..x': expected module:object",
        "run.policy is 'policy': config.json holds a list",
    ):
        assert [problem for problem in problems if words in problem], (words, problems)


@pytest.mark.parametrize(
    "command", ["feed", "rollout", "mentor", "train", "evaluate", "up", "topics list", "dead-letters list"]
)
def test_a_missing_config_file_is_one_line_and_no_traceback(command: str, tmp_path: Path) -> None:
    failed = mentor_stream(*command.split(), "nowhere.toml", cwd=tmp_path)
    assert failed.returncode == 2
    assert failed.stderr.startswith("mentor-stream: config file nowhere.toml: no such file")
    assert "Traceback" not in failed.stderr

"""A config that cannot work, as a user hears of it."""

import json
from pathlib import Path

from tests.runs import as_process


def test_check_names_every_problem_and_exits_with_2(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[run]\nname = 'x'\n[rollout]\ngroup_size = 1\n")
    checked = as_process("check", "bad.toml", cwd=tmp_path)
    assert checked.returncode == 2
    assert "run.policy is missing" in checked.stderr
    assert "rollout.group_size is 1" in checked.stderr
    as_json = json.loads(as_process("check", "bad.toml", "--json", cwd=tmp_path).stdout)
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
    checked = as_process("check", "own.toml", "--json", cwd=tmp_path)
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

"""A config that cannot work, as a user hears of it."""

import json
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from mentor_stream.component import Component, check, load_config
from mentor_stream.config import Config, ConfigError
from tests.runs import Done, as_process, mentor_stream


def test_check_names_every_problem_and_exits_with_2(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[run]\nname = 'x'\n[rollout]\ngroup_size = 1\n")
    checked = as_process("check", "bad.toml", cwd=tmp_path)
    assert checked.returncode == 2
    assert "run.policy is missing" in checked.stderr
    assert "rollout.group_size is 1" in checked.stderr
    as_json = json.loads(as_process("check", "bad.toml", "--json", cwd=tmp_path).stdout)
    assert as_json["ok"] is False
    assert as_json["problems"] == checked.stderr.splitlines()


def test_what_check_quotes_of_foreign_text_does_nothing_to_the_terminal(tmp_path: Path) -> None:
    missing = mentor_stream("check", "no\x1b[2J\r\udcff\u202ewhere.toml")
    assert "config file no\\x1b[2J\\r\\udcff\\u202ewhere.toml: no such file" in missing.stderr
    assert len(missing.stderr.splitlines()) == 1
    found = checked_config(tmp_path, OWN + r'"x\u001b[2J\r\u2028y" = 1')["problems"]
    shown = checked(tmp_path).stderr.splitlines()
    assert any("topics.x\\x1b[2J\\r\\u2028y: no such setting" in line for line in shown)
    assert len(shown) == len(found)


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


OWN = """
[run]
name = "x"
directory = "x"
broker = "sqlite:///x.db"
policy = "nowhere"
max_versions = 1
[data]
train = "train.jsonl"
[reward]
verifier = { kind = "exact" }
[rollout]
group_size = 2
[mentor]
concurrency = 1
[trainer]
lr = 1e-3
[evaluate]
every = 10
[topics]
partitions = 1
"""
ROW = '{"question": "1 + 1 ?", "answer": "2"}\n'


def checked_config(directory: Path, text: str, rows: str = ROW) -> dict[str, Any]:
    (directory / "train.jsonl").write_text(rows)
    (directory / "own.toml").write_text(text)
    return json.loads(checked(directory, "--json").stdout)


def checked(directory: Path, *options: str) -> Done:
    with chdir(directory):
        return mentor_stream("check", "own.toml", *options)


def test_a_model_that_is_missing_is_told_once(tmp_path: Path) -> None:
    missing = "run.policy is 'nowhere': no such directory. Give a Hugging Face model's directory."
    assert checked_config(tmp_path, OWN)["problems"] == [missing]
    (tmp_path / "nowhere").mkdir()
    (problem,) = checked_config(tmp_path, OWN)["problems"]
    assert (
        problem == "run.policy is 'nowhere': it holds no config.json. Give a Hugging Face model's directory."
    )


def test_warnings_are_in_the_json_and_no_problems(tmp_path: Path) -> None:
    found = checked_config(tmp_path, OWN, ROW * 2)
    (warning,) = found["warnings"]
    assert "train.jsonl" in warning
    shown = checked(tmp_path).stderr
    assert shown.count(warning) == 1
    assert f"warning: {warning}" in shown
    assert checked_config(tmp_path, OWN)["warnings"] == []


POLICY = Path(__file__).parent.parent.parent / "examples" / "chain" / "policy"
NO_BROKER = "run.broker is kafka://127.0.0.1:1: "


def test_a_broker_that_does_not_answer_is_a_warning(tmp_path: Path) -> None:
    elsewhere = OWN.replace("sqlite:///x.db", "kafka://127.0.0.1:1?connect_timeout=1")
    elsewhere = elsewhere.replace("group_size = 2", "group_size = 2\nmax_new_tokens = 16")
    found = checked_config(tmp_path, elsewhere.replace("nowhere", str(POLICY)))
    assert (found["ok"], found["problems"]) == (True, [])
    (warning,) = found["warnings"]
    assert warning.startswith(NO_BROKER)
    assert "No component can start from here before it answers." in warning
    shown = checked(tmp_path)
    assert shown.returncode == 0
    assert shown.stdout == "own.toml is fine but for 1 warning.\n"
    assert shown.stderr.count("127.0.0.1:1: ") == warning.count("127.0.0.1:1: ")


def test_a_machine_without_a_component_s_packages_is_told_which_in_a_sentence(
    tmp_path: Path,
) -> None:
    def lacks_torch(_: Config) -> list[str]:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    def lacks_ours(_: Config) -> list[str]:
        raise ModuleNotFoundError("No module named 'trainer.x'", name="trainer.x")

    (tmp_path / "train.jsonl").write_text(ROW)
    (tmp_path / "own.toml").write_text(OWN.replace("nowhere", str(POLICY)))
    with chdir(tmp_path):
        config = load_config(Path("own.toml"))
        with pytest.raises(ConfigError) as missing:
            check(config, [Component("trainer", (), run=lambda _: None, check=lacks_torch)])
        with pytest.raises(ModuleNotFoundError):  # a defect of ours
            check(config, [Component("trainer", (), run=lambda _: None, check=lacks_ours)])
    (problem,) = str(missing.value).splitlines()
    assert problem.startswith("trainer: it cannot be checked here, where the package torch is missing.")
    assert "--component" in problem


def test_a_mistake_of_form_hides_none_of_what_the_other_sections_point_to(tmp_path: Path) -> None:
    found = checked_config(
        tmp_path, OWN.replace("group_size = 2", "group_size = 1").replace(ROW, ""), "no json"
    )
    said = "\n".join(found["problems"])
    for words in ("rollout.group_size is 1", "train.jsonl line 1", "run.policy is 'nowhere'"):
        assert words in said
    assert len(set(found["problems"])) == len(found["problems"])


@pytest.mark.parametrize(
    "table", ["run", "data", "reward", "rollout", "mentor", "trainer", "evaluate", "topics"]
)
def test_whichever_section_is_broken_the_check_itself_holds(tmp_path: Path, table: str) -> None:
    (tmp_path / "train.jsonl").write_text(ROW)
    (tmp_path / "own.toml").write_text(OWN.replace(f"[{table}]", f"[{table}]\nnonsense = 1"))
    done = checked(tmp_path)
    assert done.returncode == 2
    assert f"{table}.nonsense: no such setting" in done.stderr
    assert "the check itself failed" not in done.stderr


def test_an_unknown_section_is_no_reason_not_to_look_at_the_others(tmp_path: Path) -> None:
    found = checked_config(tmp_path, OWN + "[nonsense]\nx = 1\n")
    assert any("nonsense" in problem for problem in found["problems"])
    assert any("run.policy is 'nowhere'" in problem for problem in found["problems"])


def test_one_component_s_part_can_be_checked_alone(tmp_path: Path) -> None:
    broken = OWN.replace(ROW, "")
    missing = "run.policy is 'nowhere': no such directory. Give a Hugging Face model's directory."
    assert len(checked_config(tmp_path, broken, "no json")["problems"]) > 1
    assert json.loads(checked(tmp_path, "--json", "--component", "trainer").stdout)["problems"] == [missing]
    (tmp_path / "own.toml").write_text(OWN.replace("group_size = 2", "group_size = 1"))
    of_form, *others = json.loads(checked(tmp_path, "--json", "--component", "feeder").stdout)["problems"]
    assert "rollout.group_size is 1" in of_form
    assert missing not in others
    unknown = checked(tmp_path, "--component", "trainr")
    assert unknown.returncode == 2
    assert "known are evaluator, feeder, mentor, rollout, trainer" in " ".join(unknown.stderr.split())

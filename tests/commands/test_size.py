"""`mentor-stream size`, as it is called."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from mentor_stream.commands.size import app

DEMO = "examples/chain/demo.toml"


def size(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mentor_stream.cli", "size", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def test_what_is_given_is_used_and_what_is_guessed_is_said():
    done = size(DEMO, "--trained-rate", "1000", "--collapsed", "0.1", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {"trained_rate", "collapsed"}.isdisjoint(document["assumed"])
    assert {"sampled_rate", "case_seconds", "hours"} <= document["assumed"].keys()
    assert {"rollout workers", "mentors", "partitions", "checkpoints"} <= {
        n["name"] for n in document["needs"]
    }


def test_the_table_names_the_settings_that_fall_short():
    done = size(DEMO, "--trained-rate", "1e6", MENTOR_STREAM__TOPICS__PARTITIONS="1")
    assert done.returncode == 0, done.stderr
    assert "because" in done.stdout
    assert "Assumed" in done.stdout
    assert "topics.partitions" in done.stdout
    assert "--sampled-rate 5,000," in done.stdout, "a number that can be typed, not 5e+03"
    assert "1 versions" not in size(DEMO, "--group-seconds", "0.001").stdout


def test_a_share_above_one_is_refused():
    done = size(DEMO, "--teaching", "1.5")
    assert done.returncode == 2
    assert "--teaching" in done.stderr


NUMBERS = ("trained-rate", "sampled-rate", "completion-tokens", "group-seconds", "case-seconds", "hours")


@pytest.mark.parametrize("option", NUMBERS)
@pytest.mark.parametrize("value", ["nan", "inf", "1e308"])
def test_what_is_no_number_of_this_world_is_refused_by_name(option: str, value: str):
    done = CliRunner().invoke(app, [DEMO, f"--{option}", value])
    assert done.exit_code == 2
    assert f"'--{option}'" in done.output


def test_its_help_says_what_options_mean_and_not_how_large_a_number_can_be():
    shown = CliRunner().invoke(app, ["--help"]).output
    assert "<=" not in shown
    assert "GPUs of a rollout worker." in " ".join(shown.split())


@pytest.mark.parametrize(
    ("option", "value"), [("--teaching", "0"), ("--hours", "-1"), ("--rollout-gpus", "0")]
)
def test_a_number_that_is_too_small_is_told_the_bounds(option: str, value: str):
    done = CliRunner().invoke(app, [DEMO, option, value])
    assert done.exit_code == 2
    assert f"{value} is not from " in " ".join(done.output.split())


def test_the_largest_numbers_make_a_plan_that_is_json():
    largest = [word for option in NUMBERS for word in (f"--{option}", "1e12")]
    gpus = ["--trainer-gpus", "1000000000000", "--rollout-gpus", "1000000000000"]
    done = CliRunner().invoke(app, [DEMO, *largest, *gpus, "--teaching", "0.001", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["needs"]


def test_a_run_that_is_not_there_is_said_to_be_missing_and_not_made(tmp_path):
    broker = tmp_path / "stream.db"
    done = size(DEMO, "--from-run", MENTOR_STREAM__RUN__BROKER=f"sqlite:///{broker}")
    assert done.returncode == 2
    assert str(broker) in done.stderr
    assert not broker.exists()

"""deploy/slurm: the scripts are sound, and do as they say where something stands in for Slurm."""

import os
import re
import subprocess
from pathlib import Path

import msgspec
import pytest
from torch.distributed.run import get_args_parser

from tests.deploy.dockerfile import ROOT
from tests.deploy.test_docker import linted
from trainer.ending import Told

SLURM = ROOT / "deploy" / "slurm"
SCRIPTS = [*sorted(SLURM.glob("*.sbatch")), SLURM / "submit", SLURM / "prepare"]

SRUN = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
for node in 0 1; do SLURM_NODEID=$node "$@" || code=$?; done
exit ${code:-0}
"""
SCONTROL = """#!/bin/bash
if [[ $1 == show ]]; then printf 'one\\ntwo\\n'; else echo "$@" >> "$SAID"; fi
"""
SBATCH = """#!/bin/bash
echo "$@" >> "$SAID"
wc --lines < "$SAID"
"""
SAYS_ITS_NAME = """#!/bin/bash
echo "$(basename "$0") $*" >> "$SAID"
if [[ -n ${FOUND:-} && $1 == -m ]]; then echo "$FOUND" > "$MENTOR_STREAM_ENDING"; fi
if [[ $1 == check ]]; then exit "${CHECKED:-0}"; fi
exit "${CODE:-0}"
"""


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What Slurm and our programs are called with; the settings are run.env beside it."""
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    stand_ins = {"srun": SRUN, "scontrol": SCONTROL, "sbatch": SBATCH}
    for name in ("mentor-stream", "python"):
        stand_ins[name] = SAYS_ITS_NAME
    for name, text in stand_ins.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    settings = {
        "CONFIG": tmp_path / "run.toml", "DIRECTORY": tmp_path, "VENV": tmp_path / "venv",
        "VLLM_VENV": tmp_path / "vllm", "SECRETS": tmp_path / "secrets",
    }  # fmt: skip
    (tmp_path / "run.env").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    (tmp_path / "secrets").write_text("MENTOR_API_KEY=k\n")
    monkeypatch.setenv("SAID", str(tmp_path / "said"))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return tmp_path / "said"


def run(script: str, said: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    slurm = {"SLURM_JOB_ID": "123", "SLURM_JOB_NODELIST": "x", "SLURM_NNODES": "2", "SLURM_GPUS_ON_NODE": "8"}
    return subprocess.run(
        ["bash", SLURM / script, said.with_name("run.env")],
        cwd=ROOT,
        env=os.environ | slurm | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_shellcheck_finds_nothing() -> None:
    linted("shellcheck", "--external-sources", f"--source-path={ROOT}", *SCRIPTS)


@pytest.mark.parametrize(
    ("script", "command"),
    [("feeder", "feed"), ("mentor", "mentor"), ("rollout", "rollout"), ("evaluator", "evaluate")],
)
def test_a_job_runs_its_component_from_the_run_s_config(script: str, command: str, said: Path) -> None:
    done = run(f"{script}.sbatch", said)
    assert done.returncode == 0, done.stderr
    assert said.read_text().splitlines()[0] == f"mentor-stream {command} {said.with_name('run.toml')}"


def test_the_trainer_s_nodes_agree_on_who_they_are_and_where_they_meet(said: Path) -> None:
    done = run("trainer.sbatch", said)
    assert done.returncode == 0, done.stderr
    _, first, second = said.read_text().splitlines()
    assert "--nnodes=2 --nproc-per-node=8" in first
    assert "--master-addr=one --master-port=20123" in first
    assert first.replace("--node-rank=0", "--node-rank=1") == second != first
    program, is_module, module, *options, config = first.split()
    assert (program, is_module, module) == ("python", "-m", "trainer.torchrun")
    assert get_args_parser().parse_args([*options, "trainer"]).nnodes == "2"
    assert config == str(said.with_name("run.toml"))


def test_a_trainer_that_was_stopped_is_queued_again_but_not_for_ever(said: Path) -> None:
    run("trainer.sbatch", said, CODE="1", SLURM_RESTART_COUNT="19")
    assert said.read_text().splitlines()[-1] == "requeue 123"
    said.unlink()
    assert run("trainer.sbatch", said, CODE="1", SLURM_RESTART_COUNT="20").returncode == 1
    assert "requeue" not in said.read_text()


def test_a_trainer_with_a_mistake_in_its_config_ends_at_once_and_is_not_queued_again(said: Path) -> None:
    assert run("trainer.sbatch", said, CHECKED="2", CODE="1").returncode == 2
    assert said.read_text() == f"mentor-stream check --component=trainer {said.with_name('run.toml')}\n"


def test_a_check_that_fails_otherwise_does_not_keep_the_trainer_from_its_tries(said: Path) -> None:
    run("trainer.sbatch", said, CHECKED="1", CODE="1")
    lines = said.read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["mentor-stream", "python", "python", "requeue"]


def test_a_trainer_that_was_queued_again_is_not_ended_by_its_check(said: Path) -> None:
    run("trainer.sbatch", said, CHECKED="2", CODE="1", SLURM_RESTART_COUNT="1")
    assert said.read_text().splitlines()[-1] == "requeue 123"


@pytest.mark.parametrize("restarts", ["0", "3"])
def test_a_mistake_that_only_a_rank_finds_ends_the_job_too(restarts: str, said: Path) -> None:
    """And what another job of this number left behind is not its own."""
    found = msgspec.json.encode(Told(2, ["mentor-stream: run.policy is ..."], "host:1")).decode()
    done = run("trainer.sbatch", said, CODE="143", FOUND=found, SLURM_RESTART_COUNT=restarts)
    assert done.returncode == 2
    assert "requeue" not in said.read_text()
    run("trainer.sbatch", said, CODE="143")
    assert said.read_text().splitlines()[-1] == "requeue 123"


def test_what_a_rank_finds_that_may_pass_is_tried_again(said: Path) -> None:
    found = msgspec.json.encode(Told(75, ["mentor-stream: the broker is away"], "host:2")).decode()
    run("trainer.sbatch", said, CODE="75", FOUND=found)
    assert said.read_text().splitlines()[-1] == "requeue 123"


def test_the_trainer_has_more_time_to_stop_than_its_ranks_take() -> None:
    text = (SLURM / "trainer.sbatch").read_text()
    warned = int(re.findall(r"--signal=TERM@(\d+)", text)[0])
    allowed = int(re.findall(r"--shutdown-timeout=(\d+)", text)[0])
    assert warned > allowed


def test_a_run_is_submitted_whole_and_stopped_when_its_trainer_ends(said: Path) -> None:
    done = run("submit", said)
    assert done.returncode == 0, done.stderr
    trainer, *rest, end = said.read_text().splitlines()
    assert "trainer.sbatch" in trainer
    assert [re.findall(r"(\w+)\.sbatch", line)[0] for line in rest] == [
        "feeder",
        "rollout",
        "mentor",
        "evaluator",
    ]
    assert all("--dependency=after:1 " in line for line in rest)
    assert "--dependency=afterany:1 " in end
    assert end.endswith("scancel --quiet 2 3 4 5")


def test_settings_that_are_not_there_are_named(said: Path) -> None:
    said.with_name("run.env").unlink()
    done = run("submit", said)
    assert done.returncode == 2
    assert "run.env" in done.stderr
    assert not said.exists()

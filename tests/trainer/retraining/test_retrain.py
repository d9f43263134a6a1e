"""`mentor-stream retrain`: the losses of a run once more, from what it has recorded."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import torch

from mentor_stream import broker as brokers
from mentor_stream import stream as streams
from mentor_stream import topics
from schemas import Group
from tests.runs import as_json, mentor_stream
from tests.trainer.recorded import Recording, mixed_groups

VERSIONS = 6
PARTITIONS = 3


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, policy_of: Callable[..., Path]) -> Recording:
    """A run on topics of several partitions, stopped and resumed once, with what training passes over."""
    recording = Recording(tmp_path_factory.mktemp("run"), policy_of())
    groups = mixed_groups(policy_of(), 70)
    anyio.run(create, url(recording), backend="trio")
    anyio.run(publish, url(recording), groups[:40], backend="trio")
    recording.configure(run="max_versions = 3")
    recording.finish()
    anyio.run(publish, url(recording), [groups[3], *groups[40:]], backend="trio")
    recording.configure(run=f"max_versions = {VERSIONS}")
    recording.finish()
    return recording


def url(recording: Recording) -> str:
    return f"sqlite:///{recording.directory}/stream.db"


async def create(where: str) -> None:
    async with brokers.connect(where) as broker:
        await broker.create_topics(topics.TopicsConfig(partitions=PARTITIONS).specs("t"))


async def publish(where: str, groups: list[Group]) -> None:
    async with streams.connect(where, "t", "test") as stream:
        for group in groups:
            await stream.publish(topics.GROUPS, group)
        async with stream.broker.producer() as producer:
            await producer.send(stream.name(topics.COLLAPSED), b"key", b"no record")


def retrain(recording: Recording, to: Path, *options: str, **environment: str) -> list[dict[str, Any]]:
    """In a process of its own, as training was."""
    done = begun(recording, to, *options, **environment)
    assert done.returncode == 0, done.stderr
    assert torch.cuda.is_available() or "Warning" not in done.stderr, "on CPUs nobody misses what is for GPUs"
    return [json.loads(line) for line in done.stdout.splitlines()]


def begun(
    recording: Recording, to: Path, *options: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    command = [
        "retrain",
        "--from",
        str(recording.directory / "run.toml"),
        "--to",
        str(to),
        "--json",
        *options,
    ]
    return subprocess.run(
        [sys.executable, "-m", "mentor_stream.cli", *command],
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
        timeout=600,
    )


def contents(directory: Path) -> dict[str, bytes]:
    """All files but those that SQLite makes while it reads."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


def test_every_loss_comes_again_to_the_bit_and_the_run_is_not_touched(run: Recording, tmp_path: Path):
    known = contents(run.directory)
    *steps, end = retrain(run, tmp_path / "again")
    assert {step["version"]: step["loss"] for step in steps} == run.measured("loss")
    assert {step["version"]: step["grad_norm"] for step in steps} == run.measured("grad_norm")
    assert all(step["loss"] == step["recorded_loss"] for step in steps)
    assert (end["versions"], end["same"], end["first_difference"]) == (VERSIONS, VERSIONS, None)
    assert end["unreadable"] >= 1, "as many as came before the last group"
    assert (tmp_path / "again/batches.jsonl").read_bytes() == (run.directory / "batches.jsonl").read_bytes()
    assert [json.loads(line) for line in (tmp_path / "again/steps.jsonl").open()] == steps
    last = run.releases()[-1]
    assert _weights(Path(end["policy"])) == _weights(Path(last.uri)), "and so is the policy"
    assert contents(run.directory) == known


def _weights(policy: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in policy.glob("*.safetensors")}


def test_another_learning_rate_changes_losses_from_the_second_on_and_no_batch(run: Recording, tmp_path: Path):
    *steps, end = retrain(run, tmp_path / "other", MENTOR_STREAM__TRAINER__LR="2e-2")
    assert steps[0]["loss"] == steps[0]["recorded_loss"], "the first batch is learned from the same weights"
    assert all(step["loss"] != step["recorded_loss"] for step in steps[1:])
    assert end["first_difference"] == {name: steps[1][name] for name in ("version", "loss", "recorded_loss")}
    assert (tmp_path / "other/batches.jsonl").read_bytes() == (run.directory / "batches.jsonl").read_bytes()


def test_from_a_checkpoint_it_goes_on_to_the_bit_and_other_settings_hold_from_there(
    run: Recording, tmp_path: Path
):
    begin = ["--checkpoint", str(run.directory / "checkpoints/v00000004")]
    known = contents(run.directory)
    *steps, end = retrain(run, tmp_path / "late", *begin)
    assert [step["version"] for step in steps] == [5, 6]
    assert (end["versions"], end["same"], end["first_difference"]) == (VERSIONS, 2, None)
    assert end["trained"] == 2
    assert _weights(Path(end["policy"])) == _weights(Path(run.releases()[-1].uri))
    assert contents(run.directory) == known
    *steps, end = retrain(run, tmp_path / "other", *begin, MENTOR_STREAM__TRAINER__LR="2e-2")
    assert (end["same"], end["first_difference"]["version"]) == (1, 6)


def test_it_ends_at_a_version_and_two_ranks_do_what_one_does(run: Recording, tmp_path: Path):
    *steps, end = retrain(run, tmp_path / "short", "--until", "2", MENTOR_STREAM__TRAINER__DATA_PARALLEL="2")
    assert end["versions"] == len(steps) == 2
    known = run.measured("loss")
    assert [step["loss"] for step in steps] == pytest.approx([known[1], known[2]], abs=1e-4)


def test_what_trains_is_said_by_a_file_that_has_run_and_trainer_alone(run: Recording, tmp_path: Path):
    other = tmp_path / "other.toml"
    parts = (run.directory / "run.toml").read_text().replace('[data]\ntrain = "none.jsonl"', "")
    other.write_text(parts.replace("lr = 1e-2", "lr = 2e-2\ndata_parallel = 2"))
    *steps, _ = retrain(run, tmp_path / "again", "--trainer", str(other), "--until", "2")
    losses = [(step["loss"], step["recorded_loss"]) for step in steps]
    assert losses[0][0] == pytest.approx(losses[0][1], abs=1e-4), "learned from the same weights"
    assert losses[1][0] != pytest.approx(losses[1][1], abs=1e-3), losses
    other.write_text(parts.replace("lr = 1e-2", "rl = 2e-2"))
    refused = begun(run, tmp_path / "none", "--trainer", str(other))
    assert refused.returncode == 2
    assert f"{other}: trainer.rl: no such setting" in refused.stderr


def test_without_the_journal_batches_are_cut_anew_and_always_the_same(run: Recording, tmp_path: Path):
    first, second = (retrain(run, tmp_path / name, "--rebatch") for name in ("first", "second"))
    assert first[:-1] == second[:-1]
    assert len(first) > VERSIONS, "the recording holds more than the run took"
    assert (tmp_path / "first/batches.jsonl").read_bytes() == (tmp_path / "second/batches.jsonl").read_bytes()
    smaller = retrain(run, tmp_path / "smaller", "--rebatch", MENTOR_STREAM__RUN__BATCH_GROUPS="2")
    assert all(step["groups"] == 2 for step in smaller[:-1])


def imported(run: Recording, tmp_path: Path) -> Path:
    """A copy of the run in a folder, by way of a file."""
    config = run.directory / "run.toml"
    as_json("export", str(config), str(tmp_path / "run.parquet"))
    as_json("import", str(tmp_path / "run.parquet"), str(tmp_path / "laptop"))
    return tmp_path / "laptop"


def test_a_copy_of_the_run_gives_the_same(run: Recording, tmp_path: Path):
    copy = Recording(imported(run, tmp_path), run.policy)
    *_, end = retrain(copy, tmp_path / "again")
    assert (end["same"], end["first_difference"]) == (VERSIONS, None)


def test_a_trainer_goes_on_from_its_checkpoint_on_a_copy(run: Recording, tmp_path: Path):
    copy = Recording(imported(run, tmp_path), run.policy)
    shutil.copytree(run.directory / "checkpoints", copy.directory / "checkpoints")
    copy.configure(run=f"max_versions = {VERSIONS + 1}")
    copy.finish()
    assert f"resumed version {VERSIONS}" in copy.log()
    assert {v: copy.measured("loss")[v] for v in run.measured("loss")} == run.measured("loss")
    assert copy.releases()[-1].policy_version == VERSIONS + 1


def test_asked_to_stop_it_ends_between_two_steps(run: Recording, tmp_path: Path):
    command = ["retrain", "--from", str(run.directory / "run.toml"), "--to", str(tmp_path / "stopped")]
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "mentor_stream.cli", *command],
        env=os.environ
        | {"OMP_NUM_THREADS": "1"},  # as the run was made: threads decide in which order is added
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline().startswith("version 1: loss ")
    process.send_signal(signal.SIGTERM)
    *_, verdict = process.stdout.read().splitlines()
    assert "losses are those recorded, to the bit. The policy is " in verdict
    assert process.wait(60) in (0, 128 + signal.SIGTERM)


@pytest.mark.parametrize("options", [[], ["--rebatch"]])
def test_a_run_without_groups_such_as_a_replay_is_said_to_have_none(
    run: Recording, tmp_path: Path, options: list[str]
):
    async def main() -> None:
        async with streams.connect(url(run), "replayed", "replay"):
            pass

    anyio.run(main, backend="trio")
    given = ("--from", f"{run.directory}/run.toml:replayed", "--to", str(tmp_path / "new"), *options)
    done = mentor_stream("retrain", *given)
    assert done.returncode == 2
    assert "run replayed has no group to train on" in done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("to", "options", "problem"),
    [
        ("{run}", [], "that is in the recorded run's directory"),
        ("{run}/again", [], "that is in the recorded run's directory"),
        ("{here}", [], "something is there already"),
        ("{here}/cut.jsonl/new", [], "cut.jsonl/new': it cannot be written (Not a directory)"),
        ("{here}/" + "n" * 300, [], "it cannot be written (File name too long)"),
        ("{here}/new", ["--batches", "{here}/none.jsonl"], "none.jsonl: there is no such file"),
        ("{here}/new", ["--batches", "{here}/empty.jsonl"], "empty.jsonl: there is no batch in it"),
        ("{here}/new", ["--batches", "{here}/twice.jsonl"], "twice.jsonl line 1: group g is there already"),
        ("{here}/new", ["--batches", "{here}/cut.jsonl"], "cut.jsonl: version 0 is due and 4 comes"),
        ("{here}/new", ["--batches", "{here}/strange.jsonl"], "strange.jsonl cannot be read"),
        ("{here}/new", ["--batches", "{here}/none.jsonl", "--rebatch"], "--batches says which groups go"),
        ("{here}/new", ["--checkpoint", "{here}", "--rebatch"], "goes on with the run's batches"),
        ("{here}/new", ["--from", "{run}/run.toml:nope"], "has no topic 'nope.groups'"),
        ("{here}/new", ["--batches", "{here}/other.jsonl"], "version 1 was trained on group g, which is not"),
        ("{here}/new", ["--checkpoint", "{run}/checkpoints/v00000006"], "batches.jsonl ends there"),
        ("{here}/new", ["--checkpoint", "{run}/checkpoints/v00000004", "--until", "4"], "--until is 4: the"),
        ("{here}/new", ["--checkpoint", "{here}"], "Name one of the run's checkpoints/"),
        (
            "{here}/new",
            ["--checkpoint", "{here}/none"],
            "no such directory. Name one of the run's checkpoints/",
        ),
    ],
)
def test_what_cannot_be_is_said_before_the_model_is_loaded(
    run: Recording, tmp_path: Path, to: str, options: list[str], problem: str
):
    (tmp_path / "cut.jsonl").write_text('{"version": 4, "groups": []}\n')
    (tmp_path / "twice.jsonl").write_text('{"version": 0, "groups": ["g", "g"]}\n')
    (tmp_path / "other.jsonl").write_text('{"version": 0, "groups": ["g"]}\n')
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "strange.jsonl").write_text("{}\n")
    places = {"run": run.directory, "here": tmp_path}
    given = [option.format(**places) for option in ("--to", to, *options)]
    done = mentor_stream("retrain", "--from", str(run.directory / "run.toml"), *given)
    assert done.returncode == 2
    assert problem in " ".join(done.stderr.split())
    assert not (tmp_path / "new").exists()


def test_a_disk_where_nothing_may_be_written_is_told_before_the_model_is_loaded(
    run: Recording, tmp_path: Path
):
    (place := tmp_path / "disk").mkdir()
    mount = f"mount -t tmpfs -o ro tmpfs {place}"
    begin = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*begin, mount], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small file system: Linux with user namespaces")
    command = [sys.executable, "-m", "mentor_stream.cli", "retrain", "--from", f"{run.directory}/run.toml"]
    for to in (place, place / "new"):
        asked = [*begin, f'{mount}; exec "$@"', "sh", *command, "--to", str(to)]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"--to is '{to}': it cannot be written (Read-only file system)" in done.stderr
        assert len(done.stderr.splitlines()) == 1

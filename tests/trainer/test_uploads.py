"""The trainer as a process, its policies in a store: brought there beside training, announced once there."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mentor_stream import snapshots
from mentor_stream.metrics.catalogue.trainer import UPLOAD_RETRIES, UPLOAD_SECONDS
from mentor_stream.metrics.readings import Readings
from mentor_stream.snapshots import attempts
from mentor_stream.snapshots.store import Store, deadline
from schemas import Group
from tests.storage import Gate, Storage
from tests.trainer.policies import sampled_groups
from tests.trainer.recorded import RUN, Recording
from trainer import uploads

VERSIONS = 6


@pytest.fixture(scope="module")
def groups(policy_of: Callable[..., Path]) -> list[Group]:
    return sampled_groups(policy_of(), 80)


@pytest.fixture
def recording(
    storage: Storage, tmp_path: Path, policy_of: Callable[..., Path], groups: list[Group]
) -> Recording:
    """Enough groups for VERSIONS batches and more, and a run of so many."""
    recording = Recording(tmp_path / "run", policy_of())
    recording.append(groups)
    configure(recording, storage)
    return recording


def configure(recording: Recording, storage: Storage, trainer: str = "", versions: int = VERSIONS) -> None:
    recording.configure(
        run=f'max_versions = {versions}\nsnapshots = "{storage.url}"',
        trainer=f"keep_snapshots = 2\n{trainer}",
    )


def contents(storage: Storage) -> dict[str, bool]:
    return Store(f"{storage.url}/{RUN}", deadline(30)).contents()


def eventually(condition: Callable[[], object], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_what_is_released_is_in_the_store_and_is_what_was_trained(
    recording: Recording, storage: Storage
) -> None:
    recording.finish()
    releases = recording.releases()
    assert releases[0].policy_version == 0
    assert (releases[-1].policy_version, releases[-1].final) == (VERSIONS, True)
    versions = [release.policy_version for release in releases]
    assert versions == sorted(versions)
    assert all(release.uri.startswith(f"{storage.url}/{RUN}/v") for release in releases)
    with snapshots.hold(releases[-1].uri, releases[-1].digest) as path:
        written = recording.directory / "snapshots" / f"v{VERSIONS:08d}"
        assert (path / "model.safetensors").read_bytes() == (written / "model.safetensors").read_bytes()
    there = contents(storage)
    assert list(there.values()) == [True, True], "older ones are gone"
    assert releases[-1].uri.rpartition("/")[2] in there
    assert "secret-of-the-store" not in recording.log()


def test_a_trainer_killed_while_it_uploads_leaves_what_readers_have_and_its_successor_tidies_up(
    recording: Recording, storage: Storage, gate: Gate
) -> None:
    process = recording.start()
    recording.await_release(process, lambda release: release.policy_version == 0)
    gate.limit = gate.passed + 30_000
    assert gate.closed.wait(60)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    gate.let()
    last = recording.releases()[-1]
    with snapshots.hold(last.uri, last.digest):
        pass
    storage.files.pipe_file(f"{storage.url}/{RUN}/v00000077-0123456789abcdef/model.safetensors", b"half")
    recording.finish()
    releases = recording.releases()
    assert (releases[-1].policy_version, releases[-1].final) == (VERSIONS, True)
    there = contents(storage)
    assert list(there.values()) == [True, True]
    assert not any(name.startswith("v00000077") for name in there)


def trained_without_the_store(recording: Recording, gate: Gate) -> subprocess.Popen[bytes]:
    """A trainer after its last step, while the store has stood still since the first policy."""
    process = recording.start()
    recording.await_release(process, lambda release: release.policy_version == 0)
    gate.hold()
    eventually(lambda: VERSIONS in recording.measured("step_seconds"))
    return process


def test_training_does_not_wait_for_a_store_that_stands_still(
    recording: Recording, storage: Storage, gate: Gate
) -> None:
    process = trained_without_the_store(recording, gate)
    announced = max(release.policy_version for release in recording.releases())
    assert announced < VERSIONS, "what is not there was not announced"
    assert process.poll() is None, "the last policy has to get there"
    gate.let()
    assert process.wait(90) == 0, recording.log()
    last = recording.releases()[-1]
    assert (last.policy_version, last.final) == (VERSIONS, True)
    assert len(recording.releases()) < VERSIONS, "those that there was no time for are left out"


def test_asked_to_stop_while_the_last_policy_is_on_its_way_it_ends_and_its_successor_brings_it_there(
    recording: Recording, storage: Storage, gate: Gate
) -> None:
    process = trained_without_the_store(recording, gate)
    process.send_signal(signal.SIGTERM)
    assert process.wait(90) == 128 + signal.SIGTERM, recording.log()
    assert f"asked to stop: version {VERSIONS} is kept in" in recording.log()
    assert not any(release.final for release in recording.releases())
    gate.let()
    recording.finish()
    last = recording.releases()[-1]
    assert (last.policy_version, last.final) == (VERSIONS, True)
    assert last.uri.rpartition("/")[2] in contents(storage)


def test_a_store_that_is_away_for_too_long_ends_training_by_name_and_nothing_learned_is_lost(
    recording: Recording, storage: Storage, gate: Gate
) -> None:
    configure(recording, storage, "upload_seconds = 3", versions=1000)
    file = recording.directory / "run.toml"
    file.write_text(file.read_text().replace("checkpoint_every = 2", "checkpoint_every = 1000"))
    process = recording.start()
    recording.await_release(process, lambda release: release.policy_version == 0)
    gate.go_away()
    assert process.wait(90) == 75
    assert "did not get into run.snapshots within trainer.upload_seconds = 3" in recording.log()
    kept = recording.checkpoint()
    assert kept is not None
    trained = max(recording.measured("step_seconds"))
    assert kept.state.version == trained > 0
    gate.let()
    configure(recording, storage, versions=trained)
    recording.finish()
    last = recording.releases()[-1]
    assert (last.policy_version, last.final) == (trained, True)


def test_requests_that_are_made_again_are_counted_and_the_time_is_measured(
    tmp_path: Path, storage: Storage, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "READINGS", readings := Readings())
    monkeypatch.setattr(attempts, "PAUSES", (0.1,))
    monkeypatch.setattr(attempts.log, "warning", lambda *_: gate.let())

    def fill(draft: Path) -> None:
        (draft / "model").write_bytes(b"weights")

    snapshot = snapshots.write(tmp_path, 1, fill)
    gate.go_away()
    upload = uploads.Uploads(f"{storage.url}/{RUN}", keep=2, seconds=60)
    upload.begin(snapshot, 1, lambda _: None)
    eventually(lambda: not upload.busy)
    assert readings.values(UPLOAD_RETRIES)[()] >= 1
    assert sum(readings.distributions(UPLOAD_SECONDS)[()].counts) == 1

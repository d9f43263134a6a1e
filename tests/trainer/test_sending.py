"""The trainer as a process that sends what it releases."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file

from mentor_stream.exits import PASSING
from mentor_stream.snapshots import StoreError
from producers.engines.vllm import receiving
from producers.engines.vllm.receiving import Sender
from tests.trainer.policies import sampled_groups
from tests.trainer.recorded import Recording
from tests.weights.shelf import different, received, where


@pytest.fixture
def recording(tmp_path: Path, policy_of: Callable[..., Path]) -> Recording:
    recording = Recording(tmp_path / "run", policy_of())
    recording.append(sampled_groups(policy_of(), 24))
    return recording


def test_what_is_released_can_be_had_from_the_trainer_while_it_runs_and_is_what_it_wrote(
    recording: Recording,
) -> None:
    at = where()
    recording.configure(run=f'max_versions = 100\nweights_from = "{at}"', trainer="keep_snapshots = 100")
    process = recording.start()
    try:
        recording.await_release(process, lambda release: release.policy_version == 2)
        for release in recording.releases()[-2:]:
            found = received(at, release.digest)
            assert different(found, [load_file(Path(release.uri) / "model.safetensors")]) == []
        offer = receiving.look(Sender(at, release.digest, "gloo"))
        assert offer.config == json.loads((recording.policy / "config.json").read_bytes())
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    finally:
        process.kill()
    with pytest.raises(StoreError, match="cannot be reached"):
        receiving.look(Sender(at, release.digest, "gloo"))


def test_training_ends_behind_a_checkpoint_when_nothing_can_be_sent_any_more(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "import sys\nif 'trainer.sending' in sys.orig_argv: sys.exit('no sender here')\n"
    )
    recording.configure(run=f'max_versions = 100\nweights_from = "{where()}"')
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(broken), os.environ.get("PYTHONPATH", "")]))
    process = recording.start()
    try:
        assert process.wait(120) == PASSING
    finally:
        process.kill()
    assert "run.weights_from is" in recording.log()
    assert "no sender here" in recording.log()
    kept = recording.checkpoint()
    assert kept is not None
    assert kept.state.version == recording.releases()[-1].policy_version

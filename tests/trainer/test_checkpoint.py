import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mentor_stream import snapshots
from mentor_stream.broker import Receipt
from schemas import Consumed
from tests.trainer.policies import sampled_groups
from trainer import checkpoint, shards
from trainer.batches import Ledger
from trainer.checkpoint import State

LEDGER = Ledger(offsets=(), pending=(), booked=Consumed(tokens=7), surplus=0)


def a_checkpoint(directory: Path, version: int, keep: int = 5) -> Path:
    state = State(version=version, step=version, policy="p", ledger=LEDGER)
    checkpoint.write(directory, state, b"i" * 32, lambda d: (d / "shard").write_text("w"), keep=keep)  # type: ignore[arg-type]
    return directory / f"v{version:08d}"


def test_the_newest_checkpoint_comes_back_as_written(tmp_path: Path) -> None:
    a_checkpoint(tmp_path, 2)
    a_checkpoint(tmp_path, 10)
    found = checkpoint.newest(tmp_path)
    assert found
    assert found.state == State(version=10, step=10, policy="p", ledger=LEDGER)
    assert found.consumed_ids == b"i" * 32
    assert (found.shards / "shard").read_text() == "w"


WRITTEN_BEFORE = b"""{
 "version": 6,
 "step": 5,
 "policy": "p",
 "ledger": {
  "offsets": [["t.groups", 0, 30]],
  "pending": [["t.groups", 0, 20], ["t.collapsed", 1, 3]],
  "booked": {
   "resolved": 12, "accepted": 0, "collapsed": 1, "guided": 18, "rescued": 17, "stale": 2, "tokens": 480
  },
  "surplus": 3,
  "batches": 6
 }
}"""
"""A state.json of the time when the ledger counted batches, too."""


def test_a_checkpoint_written_before_still_loads(tmp_path: Path) -> None:
    def fill(draft: Path) -> None:
        (draft / "model").mkdir()
        (draft / "state.json").write_bytes(WRITTEN_BEFORE)
        (draft / "consumed_ids.bin").write_bytes(b"i" * 32)

    snapshots.write(tmp_path, 6, fill)
    found = checkpoint.newest(tmp_path)
    assert found
    assert (found.state.version, found.state.step, found.state.policy) == (6, 5, "p")
    assert found.state.ledger == Ledger(
        offsets=(Receipt("t.groups", 0, 30),),
        pending=(Receipt("t.groups", 0, 20), Receipt("t.collapsed", 1, 3)),
        booked=Consumed(resolved=12, collapsed=1, guided=18, rescued=17, stale=2, tokens=480),
        surplus=3,
    )
    assert found.consumed_ids == b"i" * 32


def test_old_checkpoints_are_removed(tmp_path: Path) -> None:
    for version in range(4):
        a_checkpoint(tmp_path, version, keep=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["v00000002", "v00000003"]


@pytest.mark.parametrize("harm", ["state.json", "consumed_ids.bin", "model/shard", "manifest.json"])
@pytest.mark.parametrize("how", ["gone", "cut"])
def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, harm: str, how: str
) -> None:
    a_checkpoint(tmp_path, 1)
    victim = a_checkpoint(tmp_path, 2) / harm
    victim.unlink() if how == "gone" else victim.write_bytes(victim.read_bytes()[:-1])
    with caplog.at_level(logging.WARNING):
        found = checkpoint.newest(tmp_path)
    assert found
    assert found.state.version == 1
    assert "v00000002 is damaged" in caplog.text
    assert (tmp_path / "v00000002").exists() is False


def test_a_checkpoint_that_could_not_be_finished_is_not_there(tmp_path: Path) -> None:
    def fail(_: Path) -> None:
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        checkpoint.write(tmp_path, State(version=1, step=1, policy="p", ledger=LEDGER), b"", fail, keep=2)
    assert checkpoint.newest(tmp_path) is None


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_loaded_learner_goes_on_bit_for_bit(
    rank: None, policy_of: Callable[..., Path], tmp_path: Path, precision: str
) -> None:
    from tests.trainer.test_learner import a_learner

    policy = policy_of("qwen3")
    groups = sampled_groups(policy, 2)
    learner = a_learner(policy, precision=precision, weight_decay=0.1, warmup_steps=3)
    learner.step(groups)
    learner.step(groups)
    shards.save(learner.sharded_state(), tmp_path)

    resumed = a_learner(policy, precision=precision, weight_decay=0.1, warmup_steps=3)
    resumed.load(shards.load(resumed.sharded_state(loading=True), tmp_path))
    for _ in range(3):
        assert resumed.step(groups) == learner.step(groups)
    ours, theirs = resumed.weights(), learner.weights()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_the_learning_rate_of_the_config_wins_over_the_checkpoints(
    rank: None, policy_of: Callable[..., Path], tmp_path: Path
) -> None:
    from tests.trainer.test_learner import a_learner

    policy = policy_of()
    groups = sampled_groups(policy, 2)
    learner = a_learner(policy, lr=1e-2)
    learner.step(groups)
    shards.save(learner.sharded_state(), tmp_path)
    resumed = a_learner(policy, lr=1e-30)
    resumed.load(shards.load(resumed.sharded_state(loading=True), tmp_path))
    before = resumed.weights()
    resumed.step(groups)
    assert all(torch.equal(before[name], now) for name, now in resumed.weights().items())

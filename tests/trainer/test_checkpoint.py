import errno
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mentor_stream import snapshots
from mentor_stream.broker import Receipt
from mentor_stream.config import ConfigError
from mentor_stream.disk import Unwritable
from mentor_stream.snapshots import SnapshotError
from schemas import Consumed
from tests.trainer.dealing import learn
from tests.trainer.policies import sampled_groups, weights_of
from trainer.checkpoint import Checkpoints, State, _shape
from trainer.intake.batches import Ledger
from trainer.intake.marks import Mark
from trainer.intake.preparation import Bookmark

LEDGER = Ledger(offsets=(), pending=(), booked=Consumed(tokens=7), surplus=0)
MARKS = (Mark(Receipt("t.groups", 0, 29), "ab"),)
BOOKMARK = Bookmark(LEDGER, MARKS, b"i" * 32)


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    """None written yet."""
    return Checkpoints(tmp_path / "checkpoints", a_policy(tmp_path / "policy"), keep=2)


def a_policy(directory: Path, config: str = "{}") -> Path:
    directory.mkdir()
    (directory / "config.json").write_text(config)
    return directory


def a_checkpoint(checkpoints: Checkpoints, version: int) -> Path:
    def save_shards(directory: Path) -> None:
        (directory / "shard").write_text("w")

    checkpoints.write(version, version - 1, BOOKMARK, save_shards)
    return checkpoints.directory / f"v{version:08d}"


def test_the_newest_checkpoint_comes_back_as_written(checkpoints: Checkpoints) -> None:
    a_checkpoint(checkpoints, 2)
    a_checkpoint(checkpoints, 10)
    found = checkpoints.newest()
    assert found
    policy = checkpoints.identity
    assert found.state == State(version=10, step=9, policy=policy, ledger=LEDGER, marks=MARKS)
    assert found.bookmark == BOOKMARK
    assert (found.shards / "shard").read_text() == "w"


WRITTEN_BEFORE = """{
 "version": 6,
 "step": 5,
 "policy": "POLICY",
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
"""A state.json of the time when the ledger counted batches, too, and nobody knew the data again."""


def test_a_checkpoint_written_before_still_loads(checkpoints: Checkpoints) -> None:
    def fill(draft: Path) -> None:
        (draft / "model").mkdir()
        policy = checkpoints.identity
        (draft / "state.json").write_text(WRITTEN_BEFORE.replace("POLICY", policy))
        (draft / "consumed_ids.bin").write_bytes(b"i" * 32)

    snapshots.write(checkpoints.directory, 6, fill)
    found = checkpoints.newest()
    assert found
    assert (found.state.version, found.state.step) == (6, 5)
    assert found.state.ledger == Ledger(
        offsets=(Receipt("t.groups", 0, 30),),
        pending=(Receipt("t.groups", 0, 20), Receipt("t.collapsed", 1, 3)),
        booked=Consumed(resolved=12, collapsed=1, guided=18, rescued=17, stale=2, tokens=480),
        surplus=3,
    )
    assert found.consumed_ids == b"i" * 32
    assert found.state.marks == ()


def test_a_checkpoint_that_began_with_another_policy_is_refused(
    tmp_path: Path, checkpoints: Checkpoints
) -> None:
    a_checkpoint(checkpoints, 1)
    other = Checkpoints(checkpoints.directory, a_policy(tmp_path / "other", "{ }"), keep=2)
    with pytest.raises(ConfigError, match=r"version 1 in .* started from another policy"):
        other.newest()


@pytest.mark.parametrize(("before", "now"), [(None, "a"), ("a", None), ("a", "a"), (None, None)])
def test_a_run_may_begin_and_end_being_held_to_a_reference(
    checkpoints: Checkpoints, before: str | None, now: str | None
) -> None:
    checkpoints.reference = before
    a_checkpoint(checkpoints, 1)
    checkpoints.reference = now
    found = checkpoints.newest()
    assert found
    assert found.state.reference == before


def test_a_checkpoint_that_was_held_to_another_reference_is_refused(checkpoints: Checkpoints) -> None:
    checkpoints.reference = "a"
    a_checkpoint(checkpoints, 1)
    checkpoints.reference = "b"
    with pytest.raises(
        ConfigError, match=r"trainer.reference: the checkpoint of version 1 in .* another ref"
    ):
        checkpoints.newest()


def test_old_checkpoints_are_removed(checkpoints: Checkpoints) -> None:
    for version in range(4):
        a_checkpoint(checkpoints, version)
    assert sorted(p.name for p in checkpoints.directory.iterdir()) == ["v00000002", "v00000003"]


@pytest.mark.parametrize("harm", ["state.json", "consumed_ids.bin", "model/shard", "manifest.json"])
@pytest.mark.parametrize("how", ["gone", "cut"])
def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(
    checkpoints: Checkpoints, caplog: pytest.LogCaptureFixture, harm: str, how: str
) -> None:
    a_checkpoint(checkpoints, 1)
    damaged = a_checkpoint(checkpoints, 2)
    victim = damaged / harm
    victim.unlink() if how == "gone" else victim.write_bytes(victim.read_bytes()[:-1])
    with caplog.at_level(logging.WARNING):
        found = checkpoints.newest()
    assert found
    assert found.state.version == 1
    assert "v00000002 is damaged" in caplog.text
    assert not damaged.exists()


@pytest.mark.parametrize("harm", ["state.json", "manifest.json", "model/shard"])
def test_a_checkpoint_that_the_disk_does_not_read_is_no_damaged_one(
    checkpoints: Checkpoints, harm: str
) -> None:
    a_checkpoint(checkpoints, 1)
    victim = a_checkpoint(checkpoints, 2) / harm
    whole = victim.rename(victim.with_name("away"))
    victim.symlink_to("/proc/self/mem")  # whose first byte is an input/output error
    with pytest.raises(SnapshotError, match=r"v00000002 cannot be read now.*Input/output error.*move the"):
        checkpoints.newest()
    victim.unlink()
    whole.rename(victim)
    found = checkpoints.newest()
    assert found
    assert found.state.version == 2


def test_a_damaged_checkpoint_that_cannot_be_put_aside_is_a_line_for_the_user(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    (a_checkpoint(checkpoints, 1) / "state.json").write_text("{")

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(Unwritable, match=r"run\.directory is .*Read-only file system"):
        checkpoints.newest()


def test_that_no_checkpoint_is_whole_is_said(
    checkpoints: Checkpoints, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoints.write(1, 1, BOOKMARK, lambda shards: None)
    (checkpoints.directory / "v00000001" / "consumed_ids.bin").write_bytes(b"2")
    assert checkpoints.newest() is None
    assert "training starts anew from run.policy" in caplog.text


def test_other_weights_of_the_same_shape_are_another_policy(
    policy_of: Callable[..., Path], tmp_path: Path
) -> None:
    other = shutil.copytree(policy_of(), tmp_path / "other")
    Checkpoints(tmp_path / "checkpoints", policy_of(), 2).write(1, 1, BOOKMARK, lambda shards: None)
    assert Checkpoints(tmp_path / "checkpoints", other, 2).newest() is not None
    weights = next(other.glob("*.safetensors"))
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(ConfigError, match="started from another policy"):
        Checkpoints(tmp_path / "checkpoints", other, 2).newest()


def test_a_checkpoint_of_before_that_knows_its_policy_by_shape_goes_on_and_says_what_it_trusts(
    checkpoints: Checkpoints, caplog: pytest.LogCaptureFixture
) -> None:
    now = checkpoints.identity
    checkpoints.identity = _shape(checkpoints.policy)
    checkpoints.write(1, 1, BOOKMARK, lambda shards: None)
    checkpoints.identity = now
    assert checkpoints.newest() is not None
    assert "the checkpoint of version 1" in caplog.text
    assert "taken on trust" in caplog.text


def test_where_the_first_policy_is_the_reference_it_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    identity = snapshots.identity
    monkeypatch.setattr(snapshots, "identity", lambda place: read.append(place) or identity(place))
    policy, other = a_policy(tmp_path / "policy"), a_policy(tmp_path / "other", "{ }")
    same = Checkpoints(tmp_path / "checkpoints", policy, 2, tmp_path / "other" / ".." / "policy")
    assert same.reference == same.identity
    assert read == [policy]
    assert Checkpoints(tmp_path / "checkpoints", policy, 2, other).reference == identity(other)
    assert Checkpoints(tmp_path / "checkpoints", policy, 2).reference is None


def test_batches_that_failed_before_a_stop_are_counted_after_it(checkpoints: Checkpoints) -> None:
    checkpoints.write(1, 1, BOOKMARK, lambda shards: None, bad_batches=3)
    found = checkpoints.newest()
    assert found
    assert found.state.bad_batches == 3


def test_a_checkpoint_that_could_not_be_finished_is_not_there(checkpoints: Checkpoints) -> None:
    def fail(_: Path) -> None:
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        checkpoints.write(1, 1, BOOKMARK, fail)
    assert checkpoints.newest() is None


@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_loaded_learner_goes_on_bit_for_bit(
    rank: None, policy_of: Callable[..., Path], tmp_path: Path, precision: str, before: int
) -> None:
    """Also one that was saved before its first step: batches without a signal take none."""
    from tests.trainer.learning.test_learner import a_learner

    policy = policy_of("qwen3")
    groups = sampled_groups(policy, 2)
    learner = a_learner(policy, precision=precision, weight_decay=0.1, warmup_steps=3)
    never_saved = a_learner(policy, precision=precision, weight_decay=0.1, warmup_steps=3)
    for _ in range(before):
        assert learn(learner, groups) == learn(never_saved, groups)
    learner.save(tmp_path)

    resumed = a_learner(policy, precision=precision, weight_decay=0.1, warmup_steps=3)
    resumed.load(tmp_path)
    for _ in range(3):
        assert learn(resumed, groups) == learn(learner, groups) == learn(never_saved, groups)
    ours, theirs = weights_of(resumed.weights()), weights_of(learner.weights())
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_the_learning_rate_of_the_config_wins_over_the_checkpoints(
    rank: None, policy_of: Callable[..., Path], tmp_path: Path
) -> None:
    from tests.trainer.learning.test_learner import a_learner

    policy = policy_of()
    groups = sampled_groups(policy, 2)
    learner = a_learner(policy, lr=1e-2)
    learn(learner, groups)
    learner.save(tmp_path)
    resumed = a_learner(policy, lr=1e-30)
    resumed.load(tmp_path)
    before = weights_of(resumed.weights())
    learn(resumed, groups)
    assert all(torch.equal(before[name], now) for name, now in resumed.weights())

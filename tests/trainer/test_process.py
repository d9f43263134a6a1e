"""The trainer as a process, over a recorded stream."""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import torch

import schemas
from mentor_stream import snapshots
from schemas import Group
from tests.trainer.policies import hf_model, sampled_groups
from tests.trainer.recorded import Recording, mixed_groups

VERSIONS = 8


@pytest.fixture(scope="module")
def groups(policy_of: Callable[..., Path]) -> list[Group]:
    recorded = mixed_groups(policy_of(), 80)
    # What a trainer must survive: a repeat, and a group from another vocabulary.
    alien = msgspec.structs.replace(
        recorded[5].trajectories[0], prompt_ids=schemas.ids([3, 10_000]), reward=1.0
    )
    bad = msgspec.structs.replace(recorded[5], group_id="alien", trajectories=(alien,))
    return [*recorded[:7], recorded[2], bad, *recorded[7:]]


@pytest.fixture(scope="module")
def whole(
    tmp_path_factory: pytest.TempPathFactory, policy_of: Callable[..., Path], groups: list[Group]
) -> Recording:
    """A run that nobody disturbed."""
    recording = Recording(tmp_path_factory.mktemp("whole"), policy_of())
    recording.configure(run=f"max_versions = {VERSIONS}")
    recording.append(groups)
    recording.finish()
    return recording


def test_every_version_is_released_once_and_the_last_is_final(whole: Recording) -> None:
    releases = whole.releases()
    assert [r.policy_version for r in releases] == list(range(VERSIONS + 1))
    assert [r.final for r in releases] == [False] * VERSIONS + [True]
    assert [r.step for r in releases] == list(range(VERSIONS + 1))


def test_counters_of_a_release_are_those_at_its_batch(whole: Recording) -> None:
    for release in whole.releases():
        assert 0 <= release.consumed.accepted - 4 * release.policy_version < 4
    last = whole.releases()[-1].consumed
    assert last.guided == last.rescued > 0


def test_released_policies_load_in_transformers_and_differ(whole: Recording) -> None:
    *_, before, last = whole.releases()
    for release in (before, last):
        snapshots.verify(Path(release.uri), release.digest)
    ids = torch.arange(3, 13)[None]
    first, second = (hf_model(Path(r.uri))(input_ids=ids).logits for r in (before, last))
    assert not torch.equal(first, second)


def test_version_zero_is_the_policy_as_it_is(tmp_path: Path, whole: Recording) -> None:
    assert whole.releases()[0].uri.endswith("v00000000")
    digest = snapshots.write(tmp_path, 0, lambda d: _copy(whole.policy, d)).digest
    assert whole.releases()[0].digest == digest


def _copy(policy: Path, directory: Path) -> None:
    for path in policy.iterdir():
        (directory / path.name).write_bytes(path.read_bytes())


def test_only_the_newest_snapshots_and_checkpoints_stay(whole: Recording) -> None:
    assert len(list((whole.directory / "snapshots").glob("v*"))) == 4
    assert len(list((whole.directory / "checkpoints").glob("v*"))) == 2


def test_a_group_that_cannot_be_trained_on_is_a_dead_letter(whole: Recording) -> None:
    assert [letter.error for letter in whole.dead_letters()] == [
        "InvalidRecord: record group, field trajectories[0]: token ids outside the vocabulary of 64"
    ]


def test_resume_after_kill_gives_the_same_losses(
    tmp_path: Path, whole: Recording, groups: list[Group]
) -> None:
    """G2, G3: killed with groups waiting, then with a damaged newest checkpoint, then left alone."""
    recording = Recording(tmp_path, whole.policy)
    recording.configure(run=f"max_versions = {VERSIONS}")
    recording.append(groups[:40])
    for killed_after in (3, 5):
        process = recording.start()
        recording.await_release(process, lambda r, v=killed_after: r.policy_version >= v)
        process.send_signal(signal.SIGKILL)
        process.wait()
        recording.append(groups[40:] if killed_after == 5 else [])
    newest = max((tmp_path / "checkpoints").glob("v*"))
    assert recording.checkpoint()
    (newest / "state.json").write_text("{")
    recording.finish()

    assert "is damaged" in recording.log()
    assert recording.measured("loss") == whole.measured("loss")
    ours, theirs = recording.releases()[-1], whole.releases()[-1]
    assert (ours.consumed, ours.digest) == (theirs.consumed, theirs.digest)


def moved(whole: Recording, directory: Path, policy: Path) -> Recording:
    """The finished run's checkpoints in another run, with more to do."""
    shutil.copytree(whole.directory / "checkpoints", directory / "checkpoints")
    recording = Recording(directory, policy)
    recording.configure(run=f"max_versions = {VERSIONS + 1}")
    return recording


@pytest.mark.parametrize("anew", [False, True], ids=["an empty one", "one made anew with as much on it"])
def test_a_checkpoint_is_not_continued_on_another_stream(
    tmp_path: Path, whole: Recording, groups: list[Group], anew: bool
) -> None:
    recording = moved(whole, tmp_path, whole.policy)
    if anew:
        recording.append(groups[::-1])
    assert recording.start().wait(120) != 0
    assert "this is not the stream it was trained from" in recording.log()
    assert recording.releases() == [], "a release would let rollouts fill the stream up to the checkpoint"


def test_a_checkpoint_is_not_continued_from_another_policy(tmp_path: Path, whole: Recording) -> None:
    other = tmp_path / "other"
    shutil.copytree(whole.policy, other)
    (other / "config.json").write_text((other / "config.json").read_text() + "\n")
    recording = moved(whole, tmp_path / "run", other)
    assert recording.start().wait(120) != 0
    assert "started from another policy" in recording.log()


def test_a_trainer_that_begins_a_released_run_anew_says_so(tmp_path: Path, whole: Recording) -> None:
    copy = Recording(tmp_path, whole.policy)
    shutil.copy(whole.directory / "stream.db", tmp_path / "stream.db")
    copy.configure(run="max_versions = 1")
    copy.finish()
    assert f"has released version {VERSIONS}, and there is no checkpoint in {tmp_path}" in copy.log()
    assert "training begins anew" not in whole.log()


def test_a_run_that_is_over_announces_its_end_again(whole: Recording) -> None:
    before = whole.releases()[-1]
    whole.finish()
    last = whole.releases()[-1]
    assert last.published_at > before.published_at
    assert (last.final, last.digest, last.consumed) == (True, before.digest, before.consumed)
    assert f"the run is over: its policy, version {VERSIONS}, is in {last.uri}" in whole.log()


def test_asked_to_stop_it_keeps_its_place_and_says_nothing_final(
    tmp_path: Path, policy_of: Callable[..., Path]
) -> None:
    recording = Recording(tmp_path, policy_of())
    recording.configure()
    recording.append(sampled_groups(policy_of(), 7))
    process = recording.start()
    # The counters of the three groups that wait are announced although no version comes.
    recording.await_release(process, lambda r: r.policy_version == 1 and r.consumed.resolved == 7)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM, recording.log()
    assert f"asked to stop: version 1 is kept in {recording.directory / 'checkpoints'}" in recording.log()
    assert not any(r.final for r in recording.releases())
    found = recording.checkpoint()
    assert found
    assert found.state.version == 1


def test_the_run_ends_at_its_tokens_even_when_nothing_can_be_trained(
    tmp_path: Path, policy_of: Callable[..., Path]
) -> None:
    group = sampled_groups(policy_of(), 1)[0]
    wrong = [
        msgspec.structs.replace(t, reward=0.0, verdict=schemas.Verdict.WRONG) for t in group.trajectories
    ]
    recording = Recording(tmp_path, policy_of())
    recording.configure(run=f"max_tokens = {group.completion_tokens}")
    recording.append([msgspec.structs.replace(group, trajectories=tuple(wrong))])
    recording.finish()
    last = recording.releases()[-1]
    assert (last.final, last.policy_version, last.consumed.collapsed) == (True, 0, 1)


def test_two_ranks_learn_what_one_learns(tmp_path: Path, whole: Recording, groups: list[Group]) -> None:
    """First the ranks share each layer, then, resumed, each batch."""
    recording = Recording(tmp_path, whole.policy)
    recording.append(groups)
    for versions, split in ((3, "tensor_parallel"), (5, "data_parallel")):
        recording.configure(run=f"max_versions = {versions}", trainer=f"{split} = 2")
        recording.finish()
    for name in ("loss", "grad_norm"):
        expected = whole.measured(name)
        assert recording.measured(name) == pytest.approx({v: expected[v] for v in range(1, 6)}, abs=1e-4)
    ids = torch.arange(3, 13)[None]
    alone = next(r for r in whole.releases() if r.policy_version == 5)
    ours, theirs = (hf_model(Path(r.uri))(input_ids=ids).logits for r in (recording.releases()[-1], alone))
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-3)


def test_what_each_batch_did_is_on_the_stream_and_optimizer_steps_are_counted(
    tmp_path: Path, policy_of: Callable[..., Path]
) -> None:
    recording = Recording(tmp_path, policy_of())
    recording.configure(
        run="max_versions = 2", trainer="kl_coef = 0.1\nminibatches = 2\nepochs = 2\nmax_logprob_gap = 1e-7"
    )
    recording.append(sampled_groups(policy_of(), 8))
    recording.finish()
    assert recording.measured("steps_taken") == {1: 4.0, 2: 4.0}
    assert recording.measured("step") == {1: 4.0, 2: 8.0}
    assert recording.measured("bad_steps") == {1: 0.0, 2: 0.0}
    assert recording.measured("logprob_gap_alarm") == {1: 1.0, 2: 1.0}
    assert "trainer.max_logprob_gap is 1e-07" in recording.log()
    for name in ("kl", "entropy", "ratio_max", "logprob_gap_mean", "logprob_gap_max", "trained_tokens"):
        assert all(value > 0 for value in recording.measured(name).values()), name
    for name in ("padding_fraction", "dropped_rows", "truncated_rows"):
        assert set(recording.measured(name).values()) == {0.0}, name


def test_a_run_whose_policy_was_lost_to_the_learning_rate_does_not_end_as_trained(
    tmp_path: Path, policy_of: Callable[..., Path]
) -> None:
    """Nor when it is started again; what it had released before, it had released."""
    recording = Recording(tmp_path, policy_of())
    recording.configure(run="max_versions = 3")
    config = tmp_path / "run.toml"
    config.write_text(config.read_text().replace("lr = 1e-2", "lr = 1e30"))
    recording.append(sampled_groups(policy_of(), 12))
    for _ in range(2):
        assert recording.start().wait(120) == 1
        assert "the run is over, but version 3 is no trained policy: the last 2 batches" in recording.log()
    assert not any(release.final for release in recording.releases())


@pytest.mark.parametrize("name", ["batches.jsonl", "batches.draft"], ids=["in mid-run", "at its start"])
def test_a_directory_that_cannot_be_written_any_more_ends_training_with_a_line_that_names_it(
    tmp_path: Path, policy_of: Callable[..., Path], name: str
) -> None:
    recording = Recording(tmp_path, policy_of())
    recording.configure()
    groups = sampled_groups(policy_of(), 8)
    if name == "batches.draft":
        (tmp_path / name).mkdir()
        process = recording.start()
    else:
        recording.append(groups[:4])
        process = recording.start()
        recording.await_release(process, lambda r: r.policy_version == 1)
        (tmp_path / name).unlink()
        (tmp_path / name).mkdir()
        recording.append(groups[4:])
    assert process.wait(120) == 2, recording.log()
    assert f"run.directory is '{tmp_path}': it cannot be written (Is a directory)" in recording.log()
    assert "Traceback" not in recording.log()

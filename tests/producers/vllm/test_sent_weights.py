"""Real vLLM on the CPU, sent its weights by the trainer's sender over gloo: no path, no store."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mentor_stream import snapshots
from mentor_stream.snapshots import Snapshot, SnapshotError, StoreError
from producers.engines.vllm.engine import VllmEngine
from schemas import Sampling
from tests.producers.conftest import write_policy
from tests.producers.vllm.sampling import CLOSE, SHAPE, apart, generate, sampling_with, under_way
from tests.producers.vllm.serving import ROOT, Serving, needs_vllm
from tests.weights.shelf import ENDS, where
from trainer.hf.conversion import copy_files
from trainer.sending import Keeper
from trainer.sending.keeper import PROGRAM

pytestmark = [pytest.mark.anyio, pytest.mark.slow, needs_vllm]

WIDE = SHAPE | {"intermediate_size": 90_000, "eos_token_id": None}
"""138 MB, three buckets; and none that ends by itself."""


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `python -m tests...` is found."""
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Policies of one shape."""
    home = tmp_path_factory.mktemp("policies")

    def make(seed: int) -> Path:
        if not (path := home / str(seed)).exists():
            write_policy(path, seed=seed, **WIDE)
        return path

    return make


@pytest.fixture(scope="module")
def serving(policy: Callable[[int], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    serving = Serving(policy(0), tmp_path_factory.mktemp("logs") / "vllm.log")
    try:
        serving.start()
        serving.wait()
        yield serving
    finally:
        serving.stop()


@contextmanager
def sending(directory: Path, program: Sequence[str] = PROGRAM) -> Iterator[tuple[str, Keeper]]:
    address = where()
    keeper = Keeper(address, directory, program)
    try:
        yield address, keeper
    finally:
        keeper.close()


def released(directory: Path, version: int, policy: Path) -> Snapshot:
    return snapshots.write(directory, version, partial(copy_files, policy))


def engine(serving: Serving, address: str, **settings: Any) -> AbstractAsyncContextManager[VllmEngine]:
    return sampling_with(serving, sender=address, weights="gloo", start_seconds=60, **settings)


async def test_weights_that_are_sent_change_under_live_requests_and_every_token_names_those_it_is_from(
    serving: Serving, policy: Callable[[int], Path], tmp_path: Path
) -> None:
    sampling = Sampling(temperature=1.2)
    with sending(tmp_path) as (address, _):
        async with engine(serving, address) as sampler:

            async def load(version: int) -> None:
                snapshot = released(tmp_path, version, policy(version))
                await sampler.load_from(f"/nowhere/v{version}", snapshot.digest, version)

            await load(0)
            await generate(sampler, 8, sampling=sampling)  # a server's first tokens take longest
            version, spanning = await under_way(sampler, load, sampling, 300)
    for sample in spanning[:3]:  # of a model that takes its time
        before, since = sample.policy
        assert (before.policy_version, since.policy_version) == (version - 1, version)
        assert apart(sample, policy(version - 1), sampling, slice(before.count)) < CLOSE
        assert apart(sample, policy(version), sampling, slice(before.count, None)) < CLOSE
        assert apart(sample, policy(version - 1), sampling, slice(before.count, None)) > 100 * CLOSE


async def test_what_cannot_be_sent_leaves_the_old_policy_and_says_why(
    serving: Serving, policy: Callable[[int], Path], tmp_path: Path
) -> None:
    first, gone = (released(tmp_path, version, policy(version)) for version in (1, 2))
    write_policy(tmp_path / "other", **(WIDE | {"num_hidden_layers": 3}))
    other = released(tmp_path, 3, tmp_path / "other")
    shutil.rmtree(gone.path)
    with sending(tmp_path) as (address, keeper):
        async with engine(serving, address) as sampler:
            await sampler.load_from("/nowhere", first.digest, 1)
            with pytest.raises(SnapshotError, match="no snapshot") as refused:
                await sampler.load_from("/nowhere", gone.digest, 2)
            assert not isinstance(refused.value, StoreError)
            with pytest.raises(SnapshotError, match="num_hidden_layers is 3"):
                await sampler.load_from("/nowhere", other.digest, 3)
            keeper.close()
            with pytest.raises(StoreError, match=r"run\.weights_from\) cannot be reached"):
                await sampler.load_from("/nowhere", first.digest, 4)
            assert sampler.version == 1
            (group,) = await generate(sampler)
    for sample in group:
        assert {run.policy_version for run in sample.policy} == {1}
        assert apart(sample, policy(1), Sampling(temperature=1.0)) < CLOSE


async def test_a_sender_that_is_killed_half_way_leaves_no_tokens_of_half_a_policy(
    serving: Serving, policy: Callable[[int], Path], tmp_path: Path
) -> None:
    old, new = (released(tmp_path, version, policy(version)) for version in (1, 2))
    (tmp_path / "struck").touch()
    with sending(tmp_path, (*ENDS, "sender", "SIGKILL")) as (address, _):
        async with engine(serving, address) as sampler:
            await sampler.load_from("/nowhere", old.digest, 1)
            (tmp_path / "struck").unlink()
            with pytest.raises(StoreError, match="was lost half-way"):
                await sampler.load_from("/nowhere", new.digest, 2)
            (group,) = await generate(sampler)  # waits until the server has the old policy again
            assert {run.policy_version for sample in group for run in sample.policy} == {1}
            assert all(apart(sample, policy(1), Sampling(temperature=1.0)) < CLOSE for sample in group)
            await sampler.load_from("/nowhere", new.digest, 2)
            (group,) = await generate(sampler)
    assert {run.policy_version for sample in group for run in sample.policy} == {2}
    assert all(apart(sample, policy(2), Sampling(temperature=1.0)) < CLOSE for sample in group)

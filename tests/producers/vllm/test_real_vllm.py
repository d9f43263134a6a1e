"""The engine against real vLLM on the CPU: what is sampled, weights in flight, also from a store, deaths."""

import shutil
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
import torch
from safetensors.torch import load_file, save_file

import schemas
from mentor_stream import snapshots, topics
from mentor_stream.config import ConfigError, parse_section
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import RolloutConfig
from mentor_stream.snapshots import SnapshotError, StoreError, cache
from mentor_stream.snapshots.store import Store, deadline, name_of
from mentor_stream.stream import Stream, connect
from producers.engines.base import Demand, Sample
from producers.engines.vllm import Config
from producers.engines.vllm.engine import VllmEngine
from producers.engines.vllm.server import Server
from producers.examiner import Examiner
from producers.groups import Asked, scored
from producers.judging.verdicts import Score
from producers.rollout import RolloutWorker
from producers.tokenizer import PolicyTokenizer
from schemas import FinishReason, Sampling, Verdict, VersionRun
from tests.builders import a_query
from tests.producers.conftest import EOS, write_policy
from tests.producers.scripted import ScriptedJudge, a_config, arrived, eventually, group_ids, release
from tests.producers.vllm.sampling import (
    CLOSE,
    LIVE,
    POLICIES,
    PROMPT,
    SHAPE,
    apart,
    generate,
    made,
    sampled,
    sampling_with,
    under_way,
)
from tests.producers.vllm.serving import Serving, needs_vllm
from tests.storage import Gate, Storage, access
from trainer.config import TrainerConfig
from trainer.hf.conversion import copy_files
from trainer.learning import reference
from trainer.packing.microbatch import Multiples, collate
from trainer.packing.rows import rows_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow, needs_vllm]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Policies of one shape: policy(seed), policy(seed, endless=True) without an end-of-sequence token."""
    home = tmp_path_factory.mktemp("policies")

    def make(seed: int, *, endless: bool = False, **settings: Any) -> Path:
        path = home / f"{seed}-{endless}-{settings}"
        if not path.exists():
            write_policy(path, seed=seed, **SHAPE, **settings, **({"eos_token_id": None} if endless else {}))
        return path

    return make


@pytest.fixture(scope="module")
def way(s3: tuple[str, int]) -> Gate:
    """From the first server to the store."""
    return Gate(s3[1])


@pytest.fixture(scope="module")
def servings(
    policy: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory, way: Gate
) -> Iterator[tuple[Serving, Serving]]:
    """Two servers, in fp32 and bf16; the second may be killed, and is started again by who does."""
    logs = tmp_path_factory.mktemp("logs")
    env = access(way.port) | {cache.ENVIRONMENT: str(logs / "cache")}
    both = (
        Serving(policy(0), logs / "first.log", env=env),
        Serving(policy(0), logs / "second.log", "--dtype=bfloat16"),
    )
    try:
        for serving in both:
            serving.start()
        for serving in both:
            serving.wait()
        yield both
    finally:
        for serving in both:
            serving.stop()


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=1.0),
        Sampling(temperature=0.6),
        Sampling(temperature=1.7),
        Sampling(temperature=1.0, top_k=5),
        Sampling(temperature=1.0, top_p=0.7),
        Sampling(temperature=0.8, top_k=8, top_p=0.9),
        Sampling(temperature=0.0),
    ],
)
async def test_tokens_come_with_the_logprobs_of_the_distribution_they_were_sampled_from(
    servings: tuple[Serving, Serving], policy: Callable[..., Path], sampling: Sampling
) -> None:
    async with sampling_with(servings[0]) as engine:
        await engine.load(policy(0), 3)
        groups = await generate(engine, 3, sampling=sampling, samples=5)
    assert [len(group) for group in groups] == [5, 5, 5]
    for sample in [sample for group in groups for sample in group]:
        ended = sample.completion_ids[-1] == EOS
        assert sample.finish_reason is (FinishReason.STOP if ended else FinishReason.LENGTH)
        assert ended or len(sample.completion_ids) == 24
        assert EOS not in sample.completion_ids[:-1]
        assert sample.policy == (VersionRun(policy_version=3, count=len(sample.completion_ids)),)
        assert apart(sample, policy(0), sampling) < CLOSE


@pytest.mark.usefixtures("rank")
@pytest.mark.parametrize(("place", "precision", "apart"), [(0, "fp32", 1e-3), (1, "bf16", 2e-2)])
async def test_the_trainer_s_logprobs_are_those_that_tokens_were_sampled_with(
    servings: tuple[Serving, Serving],
    policy: Callable[..., Path],
    place: int,
    precision: str,
    apart: float,
) -> None:
    # What bf16 rounds away grows with the weights: at 0.4, as in the other tests, it is 0.03 in the mean, and
    # as much between transformers and vLLM.
    sampling, directory = Sampling(temperature=0.7), policy(1, initializer_range=0.1)
    async with sampling_with(servings[place]) as engine:
        await engine.load(directory, 0)
        found = await generate(engine, 4, samples=4, sampling=sampling, max_new_tokens=100)
    groups = [a_group(n, samples, sampling) for n, samples in enumerate(found)]
    settings = {"kl_coef": 0.1, "reference": directory, "precision": precision}
    config = parse_section(TrainerConfig, settings, "trainer")
    model = reference.load(config, directory)
    assert model is not None
    (theirs,) = model.logprobs([collate(rows_of(groups, config).learned, Multiples())])
    assert theirs is not None
    ours = torch.tensor([logprob for samples in found for sample in samples for logprob in sample.logprobs])
    assert len(ours) > 200
    assert float((theirs - ours).abs().mean()) < apart


def a_group(number: int, samples: list[Sample], sampling: Sampling) -> schemas.Group:
    """As a worker would publish it, with something to learn."""
    query = a_query("2 + 4 ?", "6", position=number)
    asked = Asked(query, f"group {number}", PROMPT, None)
    scores = [Score(Verdict.RIGHT if n % 2 else Verdict.WRONG, float(n % 2), "") for n in range(len(samples))]
    return scored(asked, samples, [""] * len(samples), scores, sampling, worker="test", at=0.0)


async def test_a_group_larger_than_what_a_server_samples_at_once_is_all_different(
    servings: tuple[Serving, Serving], policy: Callable[..., Path]
) -> None:
    async with sampling_with(servings[0]) as engine:
        await engine.load(policy(0), 0)
        (group,) = await generate(engine, samples=40)
    assert len(group) == 40 > engine._servers[0].sequences
    assert len({tuple(sample.completion_ids) for sample in group}) > 30


async def test_weights_change_under_live_requests_and_every_token_names_those_it_is_from(
    servings: tuple[Serving, Serving], policy: Callable[..., Path]
) -> None:
    policies = [policy(seed, endless=True) for seed in range(POLICIES)]
    sampling = Sampling(temperature=1.2)
    async with sampling_with(servings[0]) as engine:

        async def load(version: int) -> None:
            await engine.load(policies[version], version)

        await load(0)
        version, spanning = await under_way(engine, load, sampling)
        after = await generate(engine, 1, sampling=sampling)
    for sample in spanning:
        before, since = sample.policy
        assert (before.policy_version, since.policy_version) == (version - 1, version)
        assert before.count + since.count in (LIVE, LIVE * 2 // 3)
        assert apart(sample, policies[version - 1], sampling, slice(before.count)) < CLOSE
        assert apart(sample, policies[version], sampling, slice(before.count, None)) < CLOSE
        assert apart(sample, policies[version - 1], sampling, slice(before.count, None)) > 1000 * CLOSE
    assert {run.policy_version for s in after[0] for run in s.policy} == {version}


def put(storage: Storage, policy: Path, version: int, home: Path) -> tuple[str, str]:
    """A policy as a trainer brings it to the store; where, and its digest."""
    snapshot = snapshots.write(home, version, partial(copy_files, policy))
    name = name_of(version, snapshot.digest)
    Store(storage.url, deadline(60)).put(snapshot.path, name, snapshot.digest)
    shutil.rmtree(snapshot.path)
    return f"{storage.url}/{name}", snapshot.digest


async def test_a_server_fetches_policies_from_a_store_by_itself_and_samples_meanwhile(
    servings: tuple[Serving, Serving],
    way: Gate,
    policy: Callable[..., Path],
    storage: Storage,
    tmp_path: Path,
) -> None:
    policies = [policy(seed, endless=True) for seed in range(POLICIES)]
    places = [put(storage, directory, version, tmp_path) for version, directory in enumerate(policies)]
    sampling = Sampling(temperature=1.2)
    async with sampling_with(servings[0], store=storage.url, first=policies[0]) as engine:

        async def load(version: int) -> None:
            way.hold()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(engine.load_from, *places[version], version)
                await made(engine._servers[0], 600)
                assert engine.version == version - 1, "the store stands still, the server does not"
                assert engine._servers[0].serves
                way.let()

        await engine.load_from(*places[0], 0)
        await generate(engine, 8, sampling=sampling)  # a server's first tokens take longest
        version, spanning = await under_way(engine, load, sampling)
    for sample in spanning:
        before, since = sample.policy
        assert (before.policy_version, since.policy_version) == (version - 1, version)
        assert apart(sample, policies[version - 1], sampling, slice(before.count)) < CLOSE
        assert apart(sample, policies[version], sampling, slice(before.count, None)) < CLOSE
    assert not cache.directory().exists(), "the worker's own host fetches nothing"
    kept = Path(servings[0].env[cache.ENVIRONMENT])
    assert {digest for _, digest in places[version - 1 : version + 1]} <= {
        path.name for path in kept.iterdir()
    }


async def test_a_server_that_cannot_fetch_a_policy_goes_on_with_the_one_it_has(
    servings: tuple[Serving, Serving],
    way: Gate,
    policy: Callable[..., Path],
    storage: Storage,
    tmp_path: Path,
) -> None:
    gone, there = (put(storage, policy(seed), seed, tmp_path) for seed in (2, 3))
    storage.files.rm(gone[0], recursive=True)
    async with sampling_with(servings[0], store=storage.url, start_seconds=60) as engine:
        await engine.load(policy(1), 7)
        with pytest.raises(SnapshotError, match="gone or incomplete") as refused:
            await engine.load_from(*gone, 8)
        assert not isinstance(refused.value, StoreError)
        engine._servers[0]._config = engine._config.model_copy(update={"start_seconds": 2.0})
        way.hold()
        with pytest.raises(StoreError, match="did not fetch it within 2 s"):
            await engine.load_from(*there, 9)
        assert engine.version == 7
        (group,) = await generate(engine)
        assert {run.policy_version for sample in group for run in sample.policy} == {7}
        way.let()
        engine._servers[0]._config = engine._config
        await engine.load_from(*there, 9)
        (group,) = await generate(engine)
    assert {run.policy_version for sample in group for run in sample.policy} == {9}
    assert all(apart(sample, policy(3), Sampling(temperature=1.0)) < CLOSE for sample in group)


async def test_a_server_of_another_model_is_refused_also_where_it_sees_no_directory_of_ours(
    servings: tuple[Serving, Serving], storage: Storage, tmp_path: Path
) -> None:
    write_policy(tmp_path, **(SHAPE | {"num_hidden_layers": 3}))
    demand = Demand(tmp_path, samples=1, prompt_tokens=4, completion_tokens=4, store=storage.url)
    with pytest.raises(ExceptionGroup) as caught:
        async with VllmEngine(Config(urls=(servings[0].url,)), demand).running():
            pass
    assert caught.group_contains(ConfigError, match="num_hidden_layers is 3")


def damaged(policy: Path, place: Path, how: str) -> Path:
    """A snapshot that cannot be used."""
    if how == "another model":
        write_policy(place, **(SHAPE | {"num_hidden_layers": 3}))
        return place
    shutil.copytree(policy, place)
    file = place / "model.safetensors"
    if how == "a tensor too few":
        tensors = load_file(file)
        del tensors["model.layers.1.mlp.down_proj.weight"]
        save_file(tensors, file)
    elif how == "a file that is none":
        file.write_bytes(file.read_bytes()[:100])
    else:
        file.unlink()
    return place


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("no files", "no safetensors files"),
        ("a file that is none", "not touched"),
        ("another model", "num_hidden_layers is 3"),
        ("a tensor too few", "lacks model.layers.1.mlp.down_proj"),
    ],
)
async def test_a_snapshot_that_cannot_be_loaded_is_refused_and_the_old_policy_goes_on(
    servings: tuple[Serving, Serving], policy: Callable[..., Path], tmp_path: Path, how: str, said: str
) -> None:
    async with sampling_with(servings[0]) as engine:
        await engine.load(policy(1), 7)
        with pytest.raises(SnapshotError, match=said):
            await engine.load(damaged(policy(0), tmp_path / "damaged", how), 8)
        assert engine.version == 7
        (group,) = await generate(engine)
    for sample in group:
        assert {run.policy_version for run in sample.policy} == {7}
        assert apart(sample, policy(1), Sampling(temperature=1.0)) < CLOSE


async def test_completions_that_were_aborted_are_sampled_again(
    servings: tuple[Serving, Serving], policy: Callable[..., Path]
) -> None:
    found = []
    async with sampling_with(servings[0]) as engine:
        await engine.load(policy(0, endless=True), 0)

        async def sample() -> None:
            found.extend(await generate(engine, 4, max_new_tokens=LIVE))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sample)
            await made(engine._servers[0], 300)
            await engine._servers[0].api.post("/abort_requests", {})
    assert [[len(s.completion_ids) for s in group] for group in found] == [[LIVE] * 4] * 4


async def test_an_update_that_its_worker_did_not_live_to_finish_is_no_obstacle_to_the_next(
    servings: tuple[Serving, Serving], policy: Callable[..., Path]
) -> None:
    async with sampling_with(servings[0]) as dead:
        api = dead._servers[0].api
        await api.pause()
        await api.post("/start_weight_update")
    async with sampling_with(servings[0]) as engine:
        await engine.load(policy(0), 2)
        (group,) = await generate(engine)
    assert {run.policy_version for sample in group for run in sample.policy} == {2}


@pytest.fixture
async def stream(tmp_path: Path) -> AsyncIterator[Stream]:
    async with connect(f"sqlite:///{tmp_path}/stream.db?lease=2", "test", "rollout") as stream:
        yield stream


async def test_a_worker_has_many_queries_in_flight_and_follows_releases_between_their_tokens(
    servings: tuple[Serving, Serving], policy: Callable[..., Path], stream: Stream, tmp_path: Path
) -> None:
    policies = [policy(seed, endless=True) for seed in range(POLICIES)]
    section = RolloutConfig(group_size=4, max_new_tokens=LIVE)
    config = a_config(tmp_path, policies[0], section, PromptConfig(max_prompt_tokens=12))
    asked: list[schemas.Query] = []
    async with sampling_with(servings[0]) as engine:
        tokenizer = PolicyTokenizer(policies[0], PromptConfig())
        examiner = Examiner(engine, ScriptedJudge(), tokenizer)  # type: ignore[arg-type]
        async with anyio.create_task_group() as tasks:
            await release(stream, tmp_path, 0, policy=policies[0])
            tasks.start_soon(RolloutWorker(config, stream, examiner).work)
            asked.append(a_query("1 + 1 ?", "2", position=0))
            await stream.publish(topics.QUERIES, asked[0])
            await arrived(stream, topics.COLLAPSED, 1, seconds=60)
            for version in range(1, POLICIES):
                more = range(len(asked), len(asked) + 20)
                asked += [a_query(f"{n % 10} + {n // 10} ?", "6", position=n) for n in more]
                for query in asked[-20:]:
                    await stream.publish(topics.QUERIES, query)
                # back-pressure is the server's, not the worker's
                await eventually(lambda: engine._servers[0].in_flight > 32, 60)
                await release(stream, tmp_path, version, policy=policies[version])
                groups = await arrived(stream, topics.COLLAPSED, len(asked), seconds=240)
                runs = {tuple(run.policy_version for run in t.policy) for g in groups for t in g.trajectories}
                if {(version - 1, version), (version,)} <= runs:
                    break
            tasks.cancel_scope.cancel()
    assert group_ids(groups) == {schemas.group_id("test", q.query_id, q.attempt) for q in asked}
    assert {(0,), (version - 1, version), (version,)} <= runs
    assert runs <= {(version - 1, version), *((earlier,) for earlier in range(version + 1))}


async def struck(
    engine: VllmEngine, server: Server, serving: Serving, number: signal.Signals
) -> list[list[Sample]]:
    """What is sampled, all of it whole, until a server is lost that had some in hand when it got a signal."""
    found: list[list[Sample]] = []

    async def sample() -> None:
        options = {"prompts": 12, "max_new_tokens": LIVE}
        found.extend(await sampled(engine, lambda: not server.ready, **options))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sample)
        await made(server, 200)
        await eventually(lambda: server.in_flight > 0, 60)
        serving.signal(number)
    assert [[len(s.completion_ids) for s in group] for group in found] == [[LIVE] * 4] * len(found)
    assert found
    assert len(found) % 12 == 0
    return found


async def test_what_a_server_had_in_hand_when_it_was_killed_is_sampled_elsewhere(
    servings: tuple[Serving, Serving], policy: Callable[..., Path], tmp_path: Path
) -> None:
    first, second = servings
    snapshot = Path(shutil.copytree(policy(1, endless=True), tmp_path / "snapshot"))
    async with sampling_with(first, second) as engine:
        await engine.load(snapshot, 6)
        one, other = engine._servers
        await eventually(lambda: one.serves and other.serves)

        found = await struck(engine, other, second, signal.SIGKILL)
        assert {run.policy_version for g in found for s in g for run in s.policy} == {6}
        assert not other.serves
        # Started again it has its first weights, and those that are wanted are gone: it is asked for nothing.
        shutil.rmtree(snapshot)
        second.stop()
        second.start()
        await anyio.to_thread.run_sync(second.wait)
        await eventually(lambda: other.refusal is not None, 30)
        more = await generate(engine, 12)
        assert not other.serves
        assert "missing" in other.refusal[1] or "No such file" in other.refusal[1]
        assert {run.policy_version for g in more for s in g for run in s.policy} == {6}
        await engine.load(policy(0), 7)
        await eventually(lambda: one.serves and other.serves, 30)


async def test_a_server_that_hangs_loses_its_requests_to_others_and_is_used_again_when_it_moves(
    servings: tuple[Serving, Serving], policy: Callable[..., Path]
) -> None:
    first, second = servings
    async with sampling_with(first, second) as engine:
        await engine.load(policy(0, endless=True), 0)
        await eventually(lambda: all(server.serves for server in engine._servers))
        await generate(engine, 12)  # a server's first tokens take longest
    async with sampling_with(first, second, stall_seconds=8) as engine:
        await engine.load(policy(0, endless=True), 1)
        one, other = engine._servers
        await eventually(lambda: one.serves and other.serves)

        await struck(engine, other, second, signal.SIGSTOP)
        assert one.ready
        assert not other.serves
        second.signal(signal.SIGCONT)
        await eventually(lambda: other.serves, 60)

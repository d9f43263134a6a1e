"""What the engine does when servers misbehave, and which it refuses to begin with."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import anyio
import pytest

from mentor_stream.causes import causes
from mentor_stream.config import ConfigError
from mentor_stream.snapshots import SnapshotError
from producers.engines.base import Demand, Sample
from producers.engines.vllm import Config
from producers.engines.vllm.api import Refused
from producers.engines.vllm.engine import Unanswered, VllmEngine
from producers.engines.vllm.plugin import INTACT
from schemas import FinishReason, Sampling, VersionRun
from tests.producers.scripted import eventually
from tests.producers.vllm.scripted import Http, ScriptedVllm, as_json, completion, info

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def sampling_with(
    policy: Path, *servers: ScriptedVllm, loaded: bool = True, **settings: Any
) -> AsyncGenerator[VllmEngine]:
    urls = tuple(server.url for server in servers)
    demand = Demand(policy, samples=4, prompt_tokens=8, completion_tokens=8)
    engine = VllmEngine(Config(urls=urls, **({"start_seconds": 5} | settings)), demand)
    with anyio.fail_after(30):
        async with engine.running():
            if loaded:
                await engine.load(policy, 3)
            yield engine


async def generate(engine: VllmEngine, prompts: int = 1, samples: int = 4) -> list[list[Sample]]:
    return await engine.generate(
        [[1, 5]] * prompts,
        samples=samples,
        sampling=Sampling(temperature=1.0),
        max_new_tokens=8,
        seed=7,
    )


async def generated(policy: Path, server: ScriptedVllm) -> None:
    """One group."""
    async with sampling_with(policy, server) as engine:
        await generate(engine)


def broken(**changes: Any) -> Callable[[dict[str, Any]], Http]:
    """An answer whose second completion is not as it must be."""

    def answer(request: dict[str, Any]) -> Http:
        return as_json({"choices": [completion("default", 0), completion("default", 1, **changes)]})

    return answer


SPAN = {"version": "default", "start": 0, "end": 3}
TROUBLES = {
    "500": as_json({"error": {"message": "out of memory"}}, 500),
    "503": Http(b"no", 503),
    "a page": Http(b"<html>Maintenance</html>"),
    "nothing": Http(b""),
    "half the JSON": Http(b'{"choices": [{"index": 0, "tok'),
    "half the body": Http(b'{"choices": []}' * 50, cut=20),
    "nested": Http(b"[" * 100_000),
    "no choices": as_json({"choices": None}),
    "nine for four": lambda _: as_json({"choices": [completion("default", index) for index in range(9)]}),
    "one twice": lambda _: as_json({"choices": [completion("default")] * 2}),
    "a log-prob too few": broken(logprobs={"content": [{"token_id": 10, "logprob": -0.5}] * 2}),
    "log-probs of others": broken(logprobs={"content": [{"token_id": 11, "logprob": -0.5}] * 3}),
    "no log-probs": broken(logprobs=None),
    "no tokens": broken(tokens=0),
    "too many tokens": broken(tokens=9),
    "text for tokens": broken(token_ids=["a"]),
    "versions that end early": broken(weight_versions=[SPAN | {"end": 2}]),
    "versions with a hole": broken(weight_versions=[SPAN | {"end": 1}, SPAN | {"start": 2}]),
    "no versions": broken(weight_versions=None),
    "foreign weights": broken(weight_versions=[SPAN | {"version": "somebody's"}]),
    "too long": Http(b" " * 2**21),
}


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_a_reply_that_is_none_is_asked_for_again(tiny_policy: Path, trouble: str) -> None:
    with ScriptedVllm() as server:
        server.next = [TROUBLES[trouble]]
        async with sampling_with(tiny_policy, server) as engine:
            (group,) = await generate(engine)
    assert len(server.asked) == 2
    run = VersionRun(policy_version=3, count=3)
    assert group == [Sample([10] * 3, [-0.5] * 3, (run,), FinishReason.STOP)] * 4


async def test_a_prompt_that_a_working_server_never_completes_ends_the_worker_and_says_why(
    tiny_policy: Path,
) -> None:
    with ScriptedVllm(next=[TROUBLES["500"]] * 100) as server, pytest.raises(ExceptionGroup) as caught:
        await generated(tiny_policy, server)
    assert caught.group_contains(Unanswered, match=r"works, but failed 20 times.*out of memory")


async def test_a_request_that_is_refused_ends_the_worker_and_says_why(tiny_policy: Path) -> None:
    refusal = as_json({"error": {"message": "Token id 600 is out of vocabulary"}}, 400)
    with ScriptedVllm(next=[refusal]) as server, pytest.raises(ExceptionGroup) as caught:
        await generated(tiny_policy, server)
    assert caught.group_contains(Refused, match="out of vocabulary")


async def test_what_was_aborted_is_asked_for_alone_and_the_rest_is_kept(tiny_policy: Path) -> None:
    with ScriptedVllm() as server:

        def two_of_four(request: dict[str, Any]) -> Http:
            label = server.label
            aborted = [completion(label, n, tokens=2, finish_reason="abort") for n in (1, 2)]
            return as_json({"choices": [completion(label, 3), *aborted, completion(label, 0)]})

        server.next = [two_of_four]
        async with sampling_with(tiny_policy, server) as engine:
            (group,) = await generate(engine)
    assert [request["sampling_params"]["n"] for request in server.asked] == [4, 2]
    assert len({request["sampling_params"]["seed"] for request in server.asked}) == 2
    assert len(group) == 4


@pytest.mark.parametrize("logprob", [-9999.0, 0.5])
async def test_logprobs_that_are_none_end_the_worker(tiny_policy: Path, logprob: float) -> None:
    with ScriptedVllm() as server:
        scores = {"content": [{"token_id": 10, "logprob": logprob}] * 3}
        server.next = [lambda request: server.choices(request, logprobs=scores)]
        with pytest.raises(ExceptionGroup) as caught:
            async with sampling_with(tiny_policy, server) as engine:
                await generate(engine)
    assert caught.group_contains(FloatingPointError, match="not finite")


async def test_a_server_that_never_answers_loses_its_requests_to_another(tiny_policy: Path) -> None:
    with ScriptedVllm() as one, ScriptedVllm() as other:
        async with sampling_with(tiny_policy, one, other, stall_seconds=0.5) as engine:
            await eventually(lambda: all(server.serves for server in engine._servers))
            one.next = [Http(hang=True)] * 2
            groups = await generate(engine, prompts=4)
    assert [len(group) for group in groups] == [4] * 4
    assert len(other.asked) >= 3


async def test_a_request_waits_for_a_server_when_there_is_none(tiny_policy: Path) -> None:
    groups: list[list[Sample]] = []
    with ScriptedVllm() as server:
        pass
    async with anyio.create_task_group() as tasks:

        async def ask(engine: VllmEngine) -> None:
            groups.extend(await generate(engine))

        with ScriptedVllm(port=server.port) as first:
            working = sampling_with(tiny_policy, first)
            engine = await working.__aenter__()
        tasks.start_soon(ask, engine)
        await eventually(lambda: not engine._servers[0].ready)
        with ScriptedVllm(port=server.port) as again:
            await eventually(lambda: groups)
            assert again.label != "default", "new weights come before the first request"
            await working.__aexit__(None, None, None)
    assert len(groups[0]) == 4


async def test_no_more_is_in_flight_than_a_server_is_to_have_in_hand(tiny_policy: Path) -> None:
    with ScriptedVllm() as server:
        most = 0
        async with sampling_with(tiny_policy, server, max_in_flight=12) as engine:
            assert engine.lanes.count == 3
            at_work = engine._servers[0]

            def watched(request: dict[str, Any]) -> Http:
                nonlocal most
                most = max(most, at_work.in_flight)
                return server.choices(request)

            server.next = [watched] * 40
            await generate(engine, prompts=40)
    assert 8 <= most <= 12


async def test_a_snapshot_that_no_server_can_read_is_refused_and_the_one_before_goes_on(
    tiny_policy: Path, tmp_path: Path
) -> None:
    said = as_json({"error": {"message": f"Call to collective_rpc failed: 'snapshot: gone. {INTACT}'"}}, 500)
    with ScriptedVllm() as server:
        async with sampling_with(tiny_policy, server) as engine:
            label = server.label
            server.answers["/update_weights"] = said
            with pytest.raises(SnapshotError, match="gone"):
                await engine.load(tiny_policy, 4)
            assert (engine.version, server.label) == (3, label)
            await generate(engine)
            with pytest.raises(SnapshotError, match="config"):
                await engine.load(tmp_path, 5)


async def test_one_server_that_cannot_load_a_release_is_asked_for_nothing_until_the_next(
    tiny_policy: Path,
) -> None:
    said = as_json({"error": {"message": f"collective_rpc: 'snapshot: gone. {INTACT}'"}}, 500)
    with ScriptedVllm() as one, ScriptedVllm() as other:
        async with sampling_with(tiny_policy, one, other) as engine:
            await eventually(lambda: all(server.serves for server in engine._servers))
            one.answers["/update_weights"] = said
            await engine.load(tiny_policy, 4)
            await generate(engine, prompts=6)
            assert (len(one.asked), len(other.asked)) == (0, 6)
            del one.answers["/update_weights"]
            await engine.load(tiny_policy, 5)
            await eventually(lambda: all(server.serves for server in engine._servers))


async def test_a_cache_that_stays_is_no_update(tiny_policy: Path) -> None:
    with ScriptedVllm() as server:
        async with sampling_with(tiny_policy, server) as engine:
            server.answers["/reset_prefix_cache"] = as_json({"success": False})
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(engine.load, tiny_policy, 4)
                await eventually(lambda: [p for p, _ in server.requests].count("/reset_prefix_cache") >= 3)
                assert not engine._servers[0].serves
                del server.answers["/reset_prefix_cache"]
            assert engine._servers[0].serves


REFUSALS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "raw log-probs": (
        {"settings": info(model_config={"logprobs_mode": "raw_logprobs"})},
        ["--logprobs-mode processed_logprobs", "raw_logprobs"],
    ),
    "no transfer": ({"settings": info(weight_transfer_config=None)}, ["--weight-transfer-config"]),
    "nccl": ({"settings": info(weight_transfer_config={"backend": "nccl"})}, ["'nccl'", "mentor-stream"]),
    "short": (
        {"settings": info(model_config={"max_model_len": 15})},
        ["--max-model-len 16", "rollout.max_new_tokens", "prompt.max_prompt_tokens"],
    ),
    "no dev mode": ({"answers": {"/server_info": Http(b"", 404)}}, ["VLLM_SERVER_DEV_MODE=1"]),
    "not vLLM": (
        {"answers": {"/server_info": Http(b"", 404), "/version": Http(b"", 404)}},
        ["no vLLM server"],
    ),
    "a page": ({"answers": {"/server_info": Http(b"<html>")}}, ["no vLLM"]),
    "other JSON": ({"answers": {"/server_info": as_json({"a": 1})}}, ["no vLLM"]),
    "no token ids": ({"answers": {"/inference/v1/generate": Http(b"", 404)}}, ["--enable-scale-out"]),
    "key": ({"answers": {"/inference/v1/generate": Http(b"", 401)}}, ["rollout.engine.api_key_env"]),
    "another model": (
        {"answers": {"/update_weights": as_json({"error": f"its vocab_size is 5. {INTACT}"}, 500)}},
        ["run.policy", "vocab_size is 5"],
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
async def test_a_server_that_cannot_be_used_is_refused_at_the_start_by_the_flag_it_lacks(
    tiny_policy: Path, case: str
) -> None:
    settings, words = REFUSALS[case]
    with ScriptedVllm(**settings) as server, pytest.raises(ExceptionGroup) as caught:
        async with sampling_with(tiny_policy, server, loaded=False):
            pass
    (problem,) = causes(caught.value)
    assert isinstance(problem, ConfigError)
    assert str(problem).startswith("rollout.engine.urls: http://127.0.0.1")
    assert [word for word in words if word not in str(problem)] == []


async def test_a_server_that_is_not_there_is_named_when_the_wait_is_over(tiny_policy: Path) -> None:
    with ScriptedVllm() as server:
        port = server.port
    gone = ScriptedVllm(port=port)
    with pytest.raises(ExceptionGroup) as caught:
        async with sampling_with(tiny_policy, gone, start_seconds=0.5):
            pass
    assert caught.group_contains(ConfigError, match=r"no answer from http://127.0.0.1:\d+ within 0.5 s")


async def test_the_key_goes_with_every_request_and_into_no_message(
    tiny_policy: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("POLICY_KEY", "sk-secret")
    with ScriptedVllm() as server, nullcontext():
        server.next = [TROUBLES["500"]]
        async with sampling_with(tiny_policy, server, api_key_env="POLICY_KEY") as engine:
            await generate(engine)
    assert server.keys == {"Bearer sk-secret"}
    assert "sk-secret" not in caplog.text

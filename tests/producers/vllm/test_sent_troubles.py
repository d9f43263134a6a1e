"""What the engine tells servers whose weights the trainer sends, and what it does when that fails."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from mentor_stream.causes import causes
from mentor_stream.config import ConfigError
from mentor_stream.snapshots import SnapshotError, StoreError
from producers.engines.base import Demand
from producers.engines.vllm import Config, server
from producers.engines.vllm.engine import VllmEngine
from producers.engines.vllm.plugin import AGAIN, INTACT
from tests.producers.scripted import eventually
from tests.producers.vllm.scripted import Http, ScriptedVllm, as_json, info

pytestmark = pytest.mark.anyio
FROM = "trainer:29600"
THERE = as_json({"results": [{"there": True}]})


def failed(text: str) -> Http:
    """As vLLM tells of an error of ours."""
    return as_json({"error": {"message": f"Call to collective_rpc method failed: {text}"}}, 500)


def a_server() -> ScriptedVllm:
    """One that finds whatever is to be sent."""
    return ScriptedVllm(answers={"/collective_rpc": THERE})


@asynccontextmanager
async def sampling_with(policy: Path, *servers: ScriptedVllm, **settings: Any) -> AsyncGenerator[VllmEngine]:
    urls = tuple(server.url for server in servers)
    demand = Demand(policy, samples=4, prompt_tokens=8, completion_tokens=8, sender=FROM)
    engine = VllmEngine(Config(urls=urls, **({"start_seconds": 5, "weights": "gloo"} | settings)), demand)
    with anyio.fail_after(30):
        async with engine.running():
            await eventually(lambda: all(server.ready for server in engine._servers))
            yield engine


async def test_servers_hear_of_the_sender_and_of_no_place_before_and_while_they_pause(
    tiny_policy: Path,
) -> None:
    with a_server() as vllm:
        async with sampling_with(tiny_policy, vllm) as engine:
            vllm.requests.clear()
            await engine.load_from("/on/the/trainer/v4", "d" * 64, 4)
            assert (engine.version, engine._servers[0].label) == (4, vllm.label)
    told = [
        (path, body.get("kwargs") or body["update_info"])
        for path, body in vllm.requests
        if path in ("/collective_rpc", "/update_weights")
    ]
    paths = [path for path, _ in vllm.requests]
    assert [path for path, _ in told] == ["/collective_rpc", "/collective_rpc", "/update_weights"]
    assert paths.index("/collective_rpc") < paths.index("/pause") < paths.index("/update_weights")
    for _, source in told:
        assert (source["sender"], source["digest"], source["backend"]) == (FROM, "d" * 64, "gloo")
    assert len({source["id"] for _, source in told}) == 3
    assert "/on/the/trainer" not in json.dumps([body for _, body in vllm.requests])


@pytest.mark.parametrize(("marks", "kind"), [(INTACT, SnapshotError), (f"{INTACT} {AGAIN}", StoreError)])
async def test_what_fails_before_a_weight_is_touched_leaves_the_old_ones_at_work(
    tiny_policy: Path, marks: str, kind: type[SnapshotError]
) -> None:
    with a_server() as vllm:
        async with sampling_with(tiny_policy, vllm) as engine:
            await engine.load_from("/v3", "c" * 64, 3)
            label = vllm.label
            vllm.answers["/update_weights"] = failed(f"snapshot {FROM}: why. {marks}")
            with pytest.raises(SnapshotError, match="why") as caught:
                await engine.load_from("/v4", "d" * 64, 4)
            assert type(caught.value) is kind
            await eventually(lambda: engine._servers[0].serves)
            assert (engine.version, vllm.label) == (3, label)
            assert [path for path, _ in vllm.requests].count("/resume") >= 2


async def test_a_sender_that_is_lost_half_way_is_tried_again_and_the_server_gets_back_what_it_had(
    tiny_policy: Path,
) -> None:
    with a_server() as vllm:
        async with sampling_with(tiny_policy, vllm) as engine:
            await engine.load_from("/v3", "c" * 64, 3)

            def lost(body: Any) -> Http:
                sent = body["update_info"].get("digest") == "d" * 64
                return failed(f"{AGAIN} {FROM} was lost half-way") if sent else as_json({})

            vllm.answers["/update_weights"] = lost
            with pytest.raises(StoreError, match="lost half-way"):
                await engine.load_from("/v4", "d" * 64, 4)
            await eventually(lambda: engine._servers[0].serves, 20)
            assert engine.version == 3
            again = [b["update_info"] for p, b in vllm.requests if p == "/update_weights"][-1]
            assert again["digest"] == "c" * 64
            del vllm.answers["/update_weights"]
            await engine.load_from("/v4", "d" * 64, 4)
            assert engine.version == 4


async def test_one_server_that_is_not_sent_its_weights_asks_again_by_itself(
    tiny_policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "AGAIN_SECONDS", 0.5)
    monkeypatch.setattr(server, "LOOK_SECONDS", 0.1)
    with a_server() as one, a_server() as other:
        one.answers["/update_weights"] = as_json({})
        async with sampling_with(tiny_policy, one, other) as engine:
            one.answers["/update_weights"] = failed(f"away. {INTACT} {AGAIN}")
            await engine.load_from("/v3", "c" * 64, 3)
            first, second = engine._servers
            await eventually(lambda: first.refusal is not None)
            assert second.serves
            assert not first.serves
            del one.answers["/update_weights"]
            await eventually(lambda: first.serves)


async def test_what_the_sender_does_not_have_is_left_out_and_what_it_cannot_say_is_waited_for(
    tiny_policy: Path,
) -> None:
    with a_server() as vllm:
        async with sampling_with(tiny_policy, vllm) as engine:
            await engine.load_from("/v3", "c" * 64, 3)
            for gone, kind in ((True, SnapshotError), (False, StoreError)):
                failure = {"there": False, "failure": "no snapshot", "gone": gone}
                vllm.answers["/collective_rpc"] = as_json({"results": [{"there": True}, failure]})
                with pytest.raises(SnapshotError, match="no snapshot") as caught:
                    await engine.load_from("/v4", "d" * 64, 4)
                assert type(caught.value) is kind
                assert engine._servers[0].serves


async def test_a_server_on_a_cpu_is_refused_for_nccl_by_the_setting(tiny_policy: Path) -> None:
    cpu = ScriptedVllm(settings=info(device_config={"device": "cpu"}))
    with cpu as vllm, pytest.raises(ExceptionGroup) as caught:
        async with sampling_with(tiny_policy, vllm, weights="nccl"):
            pass
    (problem,) = causes(caught.value)
    assert isinstance(problem, ConfigError)
    assert "is on a CPU, and rollout.engine.weights is 'nccl'" in str(problem)

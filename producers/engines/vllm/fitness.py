"""Whether a server can be used: what it must have been started with, seen from what it says of itself."""

from collections.abc import Iterable
from typing import Any

import msgspec

from mentor_stream.config import ConfigError
from producers import stops
from producers.engines.base import Demand
from producers.engines.vllm.api import Api, Down, Gibberish, Refused
from producers.engines.vllm.plugin import BACKEND

FLAGS = (
    "--enable-scale-out",
    "--logprobs-mode=processed_logprobs",
    f'--weight-transfer-config={{"backend": "{BACKEND}"}}',
)
"""Without which a server is of no use."""
DEV_MODE = "VLLM_SERVER_DEV_MODE"
"""The environment variable that lets weights be changed."""


class Model(msgspec.Struct):
    """Of vLLM's model_config."""

    max_model_len: int
    logprobs_mode: str


class Scheduler(msgspec.Struct):
    """Of vLLM's scheduler_config."""

    max_num_seqs: int


class Transfer(msgspec.Struct):
    """Of vLLM's weight_transfer_config."""

    backend: str


class Device(msgspec.Struct):
    """Of vLLM's device_config."""

    device: str | None = None


class Settings(msgspec.Struct):
    """Of vLLM's configuration."""

    model_config: Model
    scheduler_config: Scheduler
    device_config: Device
    weight_transfer_config: Transfer | None = None


class Info(msgspec.Struct):
    """What /server_info says."""

    vllm_config: Settings


def misfits(where: str, settings: Settings, demand: Demand, weights: str) -> Iterable[str]:
    """Why a server cannot be used, each with the flag to start it with, or what else to set."""
    model, transfer = settings.model_config, settings.weight_transfer_config
    if weights == "nccl" and settings.device_config.device == "cpu":
        yield f"{where} is on a CPU, and rollout.engine.weights is 'nccl', for GPUs. Set it to 'gloo'."
    if model.logprobs_mode != "processed_logprobs":
        yield (
            f"{where} was started with --logprobs-mode {model.logprobs_mode}: its log-probs are not of the "
            "distribution that it samples from. Start it with --logprobs-mode processed_logprobs."
        )
    if transfer is None or transfer.backend != BACKEND:
        what = "without --weight-transfer-config" if transfer is None else f"with {transfer.backend!r}"
        yield (
            f"{where} was started {what}: it cannot take new weights. Start it with {FLAGS[2]!r}, and "
            "mentor-stream installed beside vLLM."
        )
    if model.max_model_len < (needed := demand.prompt_tokens + demand.completion_tokens):
        yield (
            f"{where} has room for {model.max_model_len} tokens: prompts of {demand.prompt_tokens} "
            f"(prompt.max_prompt_tokens) and completions of {demand.completion_tokens} "
            f"(rollout.max_new_tokens) make {needed}. Start it with --max-model-len {needed} or more, or "
            "lower those."
        )


async def examine(api: Api, demand: Demand, weights: str) -> Settings:
    """The server's settings. Raises ConfigError when it cannot be used, Down."""
    where = f"rollout.engine.urls: {api.url}"
    try:
        settings = msgspec.convert(await api.get("/server_info?config_format=json"), type=Info).vllm_config
    except Refused as refused:
        raise ConfigError(await _stranger(api, where, refused)) from refused
    except (ValueError, Gibberish) as error:
        raise ConfigError(f"{where} is no vLLM, or one that says other things of itself: {error}") from error
    if problems := [*misfits(where, settings, demand, weights), *await _closed(api, where)]:
        raise ConfigError("\n".join(problems))
    try:
        await api.load(first_policy(demand, weights), None, seconds=60)
    except Refused as refused:
        needs = ", from a machine that sees that directory"
        if weights != "snapshot":
            needs = ""
        elif demand.store:
            needs = ", from a machine with the package that run.snapshots needs"
        raise ConfigError(
            f"{where} cannot load run.policy = {str(demand.policy)!r}: {refused.said} Serve that "
            f"model{needs}."
        ) from refused
    return settings


def first_policy(demand: Demand, weights: str) -> dict[str, Any]:
    """What a server compares its model with: a directory, or what that says where the server sees none."""
    if weights != "snapshot":
        return {"sender": demand.sender, "config": stops.read(demand.policy / "config.json")}
    if demand.store is None:
        return {"path": str(demand.policy.absolute())}
    return {"uri": demand.store, "config": stops.read(demand.policy / "config.json")}


async def _stranger(api: Api, where: str, refused: Refused) -> str:
    """Why it says nothing of itself."""
    if refused.status != 404:
        return f"{where} does not say how it was started ({refused}). Is it vLLM?"
    try:
        known = "version" in (await api.get("/version"))
    except (Refused, Down, TypeError):
        known = False
    if not known:
        return f"{where} is no vLLM server. Give the URL that `vllm serve` names, without a path."
    return f"{where} lets nobody change its weights. Start it with {DEV_MODE}=1 in its environment."


async def _closed(api: Api, where: str) -> Iterable[str]:
    """What of a request for completions is refused, whatever it asks.

    A GET, which the route has no use for: of a body that it has none for, the server logs a traceback.
    """
    try:
        await api.get("/inference/v1/generate")
    except Refused as refused:
        if refused.status == 404:
            return [f"{where} takes no token ids. Start it with --enable-scale-out."]
        if refused.status in (401, 403):
            way_out = "Set rollout.engine.api_key_env to the name of the environment variable that holds it."
            return [f"{where} wants another key (status {refused.status}). {way_out}"]
    return []

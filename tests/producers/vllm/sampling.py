"""Sampling with real vLLM on the CPU, and what its log-probs are held against."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import torch
from transformers import AutoModelForCausalLM

from producers.engines.base import Demand, Sample
from producers.engines.transformers.choice import truncated
from producers.engines.vllm import Config
from producers.engines.vllm.engine import VllmEngine
from producers.engines.vllm.server import Server
from schemas import Sampling
from tests.producers.scripted import eventually
from tests.producers.vllm.serving import Serving

SHAPE = {
    "hidden_size": 64,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 1024,
}
"""vLLM's attention on CPUs knows no smaller heads than of 32."""
PROMPT = [1, 14, 15, 7, 16, 8, 17]
CLOSE = 2e-5
"""Mean distance of log-probs in float32, of two implementations; 4e-6 is usual. One token of another policy
shows in it. The largest distance would not do: the more tokens, the larger it is."""
LIVE = 900
"""Tokens of completions that last long enough for something to happen to them."""
POLICIES = 5
"""One after the other, until one comes while completions are under way."""


@asynccontextmanager
async def sampling_with(
    *servings: Serving,
    samples: int = 4,
    seconds: float = 300,
    store: str | None = None,
    first: Path | None = None,
    sender: str | None = None,
    **settings: Any,
) -> AsyncGenerator[VllmEngine]:
    urls = tuple(serving.url for serving in servings)
    demand = Demand(
        first or servings[0].policy,
        samples=samples,
        prompt_tokens=16,
        completion_tokens=LIVE,
        store=store,
        sender=sender,
    )
    engine = VllmEngine(Config(urls=urls, **settings), demand)
    with anyio.fail_after(seconds):
        async with engine.running():
            await eventually(lambda: all(server.ready for server in engine._servers), 60)
            yield engine


async def generate(engine: VllmEngine, prompts: int = 1, **changes: Any) -> list[list[Sample]]:
    options = {"samples": 4, "sampling": Sampling(temperature=1.0), "max_new_tokens": 24, "seed": 5} | changes
    return await engine.generate([PROMPT] * prompts, **options)


def expected(path: Path, completion: list[int], sampling: Sampling) -> torch.Tensor:
    """Log-probs [completion] by transformers, of the distribution that is sampled from."""
    model: Any = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    with torch.no_grad():
        logits = model(torch.tensor([[*PROMPT, *completion]])).logits[0, len(PROMPT) - 1 : -1].float()
    scaled = truncated(logits / (sampling.temperature or 1.0), sampling.top_k, sampling.top_p)
    return scaled.log_softmax(-1).gather(-1, torch.tensor(completion)[:, None])[:, 0]


def apart(sample: Sample, path: Path, sampling: Sampling, some: slice = slice(None)) -> float:
    """The mean difference between the sample's log-probs, or some of them, and those expected."""
    differences = torch.tensor(sample.logprobs) - expected(path, sample.completion_ids, sampling)
    return float(differences[some].abs().mean())


async def sampled(engine: VllmEngine, until: Callable[[], bool], **options: Any) -> list[list[Sample]]:
    """Sampled again and again: this process may be kept waiting while whole completions come and go."""
    found: list[list[Sample]] = []
    while not until():
        found.extend(await generate(engine, **options))
    return found


async def under_way(
    engine: VllmEngine, load: Callable[[int], Awaitable[None]], sampling: Sampling, tokens: int = LIVE
) -> tuple[int, list[Sample]]:
    """A policy that `load` brought after version 0, and what was under way just then."""
    for version in range(1, POLICIES):
        found: list[list[Sample]] = []

        async def sample(tokens: int, version: int = version, found: list[list[Sample]] = found) -> None:
            options = {"prompts": 6, "sampling": sampling, "max_new_tokens": tokens}
            found.extend(await sampled(engine, lambda: engine.version == version, **options))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sample, tokens)
            tasks.start_soon(sample, tokens * 2 // 3)  # not all completions end at once
            await made(engine._servers[0], 600)
            await load(version)
        spanning = [sample for group in found for sample in group if len(sample.policy) > 1]
        if len(spanning) > 10:
            return version, spanning
    raise AssertionError("all completions had ended whenever a policy came")


async def made(server: Server, tokens: int) -> None:
    """Wait until a server has made so many more."""
    begin = await server.api.progress(5)
    while await server.api.progress(5) < begin + tokens:
        await anyio.sleep(0.05)

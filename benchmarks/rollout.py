"""A rollout worker against bare requests to the same vLLM server, in turn: completion tokens a second.

    python -m benchmarks.rollout                  # some minutes; needs vLLM: make vllm
    python -m benchmarks.rollout --quick --json   # one: whether it works, no verdict

The policy is tiny and random and its completions are all of one length, so that both have the same to do.
Bare is a loop over httpx that keeps as many requests in flight, and does no more with a reply than parse it.
"""

import argparse
import json
import shutil
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import anyio
import httpx2

from benchmarks.rows import Finding, Wanted, row, show
from mentor_stream import snapshots, topics
from mentor_stream.config import Config, load
from mentor_stream.sampling import RolloutConfig, length_limits
from mentor_stream.stream import connect, opened
from producers.engines.vllm import wire
from producers.engines.vllm.engine import VllmEngine
from producers.examiner import Examiner, demand, examining
from producers.rollout import RolloutWorker, component
from schemas import Consumed, Origin, PolicyRelease, Query

CHAIN = Path("examples/chain")
SAMPLES = 8
CONFIG = """
[run]
name = "benchmark"
directory = "{home}"
broker = "sqlite:///{home}/stream.db"
policy = "{home}/policy"

[prompt]
template = "{{question}}"
max_prompt_tokens = 32

[rollout]
group_size = {samples}
max_new_tokens = {tokens}

[rollout.engine]
kind = "vllm"
command = ["{vllm}", "serve"]
args = ["--dtype=float32", "--max-num-seqs=64"]
env = {{ VLLM_CPU_KVCACHE_SPACE = "1", OMP_NUM_THREADS = "1", VLLM_CPU_OMP_THREADS_BIND = "nobind" }}

[reward]
verifier = {{ kind = "exact" }}
workers = 1
"""


class Load(NamedTuple):
    """What is sampled in one round."""

    queries: int
    tokens: int
    """Of a completion."""
    rounds: int

    @property
    def in_all(self) -> int:
        """Tokens of a round."""
        return self.queries * SAMPLES * self.tokens


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="little of everything")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--vllm", type=Path, default=Path(".venv-vllm/bin/vllm"), help="the program to run")
    options = parser.parse_args()
    if shutil.which(options.vllm) is None:
        parser.error(f"there is no {options.vllm}: `make vllm` installs it, or give another as --vllm")
    load = Load(16, 16, 1) if options.quick else Load(128, 128, 5)
    show(_findings(options.vllm, load, verdict=not options.quick), as_json=options.json)


def _findings(vllm: Path, load: Load, *, verdict: bool) -> Iterator[Finding]:
    with TemporaryDirectory() as home:
        ours, bare = anyio.run(_measure, Path(home), vllm.absolute(), load, backend="trio")
    wanted = Wanted("ratio", "at least", 0.95) if verdict else None
    yield row("rollout.vllm", median(ours), "tokens/s", median(bare)), wanted


async def _measure(home: Path, vllm: Path, load: Load) -> tuple[list[float], list[float]]:
    write_policy(home / "policy")
    (home / "run.toml").write_text(CONFIG.format(home=home, vllm=vllm, samples=SAMPLES, tokens=load.tokens))
    config = _config(home, home)
    section = config.of(RolloutConfig)
    wanted = demand(config, length_limits(config), SAMPLES)
    ours, bare = list[float](), list[float]()
    async with examining(config, wanted, section.engine) as examiner:
        await _worker(home / "warm", home, examiner, load._replace(queries=16))
        for number in range(load.rounds):
            ours.append(load.in_all / await _worker(home / str(number), home, examiner, load))
            bare.append(load.in_all / await _bare(examiner, config, load))
    return ours, bare


def write_policy(place: Path) -> None:
    """A random policy that never ends a completion, with the tokenizer of the demo's."""
    import transformers

    shape = transformers.LlamaConfig(
        vocab_size=384,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=3,
        num_attention_heads=4,
        max_position_embeddings=512,
        eos_token_id=None,
    )
    transformers.AutoModelForCausalLM.from_config(shape).save_pretrained(place)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(CHAIN / "policy" / name, place)


def _config(home: Path, directory: Path) -> Config:
    """The config, with the stream in `directory`."""
    text = (home / "run.toml").read_text().replace(f"sqlite:///{home}", f"sqlite:///{directory}")
    (directory / "run.toml").write_text(text)
    return load(directory / "run.toml", component.sections)


def _questions(count: int) -> list[str]:
    with (CHAIN / "train.jsonl").open() as lines:
        return [json.loads(next(lines))["question"] for _ in range(count)]


@asynccontextmanager
async def _asked(directory: Path, home: Path, count: int) -> AsyncGenerator[Config]:
    """A stream with queries and a release on it."""
    directory.mkdir(exist_ok=True)
    config = _config(home, directory)

    def fill(draft: Path) -> None:
        shutil.copytree(config.run.policy, draft, dirs_exist_ok=True)

    snapshot = snapshots.write(directory, 0, fill)
    release = PolicyRelease(
        policy_version=0,
        step=0,
        uri=str(snapshot.path),
        digest=snapshot.digest,
        consumed=Consumed(),
        published_at=0.0,
    )
    async with connect(config.run.broker, config.run.name, "feeder") as stream:
        for position, question in enumerate(_questions(count)):
            await stream.publish(topics.QUERIES, a_query(question, position))
        await stream.publish(topics.POLICIES, release)
    yield config


def a_query(question: str, position: int) -> Query:
    """A plain one."""
    return Query(
        query_id=f"query-{position}",
        origin=Origin.PLAIN,
        question=question,
        reference="50",
        position=position,
        attempt=0,
    )


async def _worker(directory: Path, home: Path, examiner: Examiner, load: Load) -> float:
    """Seconds from its first request to its last group."""
    began = ended = 0.0
    async with _asked(directory, home, load.queries) as config, opened(config, "rollout") as stream:
        worker = RolloutWorker(config, stream, examiner)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(worker.work)
            assert isinstance(examiner.engine, VllmEngine)
            while not examiner.engine.in_flight:
                await anyio.sleep(0.001)
            began = perf_counter()
            while worker.tally.groups < load.queries:
                await anyio.sleep(0.05)
            ended = perf_counter()
            tasks.cancel_scope.cancel()
        return ended - began


async def _bare(examiner: Examiner, config: Config, load: Load) -> float:
    """Seconds of as many requests, as many at a time."""
    assert isinstance(examiner.engine, VllmEngine)
    turns = anyio.Semaphore(examiner.engine.lanes.count)
    (url,) = examiner.engine.urls
    sampling = config.of(RolloutConfig).sampling

    async def ask(client: httpx2.AsyncClient, question: str) -> None:
        async with turns:
            body = wire.request(
                examiner.tokenizer.prompt(question),
                samples=SAMPLES,
                sampling=sampling,
                max_new_tokens=load.tokens,
                stop_ids=[],
                seed=None,
            )
            reply = (await client.post(f"{url}/inference/v1/generate", json=body)).json()
            assert sum(len(choice["token_ids"]) for choice in reply["choices"]) == SAMPLES * load.tokens

    began = perf_counter()
    async with (
        httpx2.AsyncClient(timeout=None, limits=httpx2.Limits()) as client,
        anyio.create_task_group() as tasks,
    ):
        for question in _questions(load.queries):
            tasks.start_soon(ask, client, question)
    return perf_counter() - began


if __name__ == "__main__":
    main()

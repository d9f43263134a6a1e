"""What `mentor-stream compare --samples` asks, as it finds it by entry point (mentor_stream/tools.py)."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import msgspec

from mentor_stream import disk, plugins, snapshots
from mentor_stream.config import Config, ConfigError, RunConfig
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import RolloutConfig, length_limits
from mentor_stream.snapshots import SnapshotError
from producers.evaluation import results
from producers.evaluation.asking import Manner, ask
from producers.evaluation.results import Asked, Heading, Results
from producers.examiner import ENGINES, demand, engine_table, examining
from producers.judging.judge import RewardConfig
from producers.rescue import report
from producers.rescue.trials import Case, Trials, trials
from producers.rewards.base import REWARDS
from producers.tokenizer import PolicyTokenizer
from schemas import PolicyRelease

Progress = Callable[[int, int], None]
"""Told how many of how many prompts have been asked."""


class About(Heading, frozen=True, kw_only=True):
    """What was sampled, and how."""

    model: str
    """The identity of its directory (mentor_stream/snapshots.py)."""
    trials: str
    """The digest of all that is asked."""
    prompt: dict[str, str | None]
    verifier: str
    """Its table, as JSON."""
    samples: int
    temperature: float
    max_new_tokens: int
    seed: int
    engine: str


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is sampled."""

    config: Config
    """Whose [prompt], [rollout] and [reward] say how."""
    model: str
    """A Hugging Face directory."""
    release: PolicyRelease | None
    """Sampled with instead, if there is one: then the model is its place."""
    engine: str | None
    """As `rollout.engine`, a kind or a table; None: that one."""
    samples: int | None
    """Answers to each prompt; None: as many as a rollout worker wants."""
    seed: int | None
    """None: the run's."""
    out: Path
    """A folder for files of answers."""


def sample(progress: Progress, cases: Sequence[tuple[Any, Any]], **request: Any) -> dict[str, Any]:
    """Have a model answer failed questions with the hints of two runs, and with none: figures of either, and
    what came of each case, in their order.

    `cases` are pairs as `trials.Case`, the rest is a Request. Raises ConfigError, SnapshotError.
    """
    asking = Request(**request)
    disk.check_folder("--out", asking.out)
    with _held(asking) as model:
        return _Sampling(asking, model).report([Case(*case) for case in cases], progress)


class _Sampling:
    """One request at work."""

    def __init__(self, request: Request, model: Path) -> None:
        self._request, self._model = request, model
        self._engine = _engine(request)
        self._identity = _identity(model)
        run = request.config.run.model_copy(update={"policy": model})
        self._config = Config(request.config.path, {**request.config.sections, RunConfig.table: run})
        self._limits, rollout = length_limits(self._config), self._config.of(RolloutConfig)
        self._samples = request.samples or rollout.group_size
        self._seed = run.seed if request.seed is None else request.seed

    def report(self, cases: Sequence[Case], progress: Progress) -> dict[str, Any]:
        """Ask what has no answer yet, and tell what came of all."""
        tokenizer = PolicyTokenizer(self._model, self._config.of(PromptConfig))
        wanted = trials(cases, tokenizer, self._limits)
        about = self._about(wanted)
        path = self._request.out / f"{blake2b(msgspec.json.encode(about), digest_size=8).hexdigest()}.jsonl"
        with closing(results.opened(path, about)) as kept:
            progress(len(kept.asked), len(wanted.asked))
            if len(kept.asked) < len(wanted.asked):
                anyio.run(self._ask, wanted, kept, progress, backend="trio")
            found = {asked.question_id: asked for asked in kept.asked}
        return self._document(about, path) | report.document(cases, wanted, found)

    async def _ask(self, wanted: Trials, kept: Results, progress: Progress) -> None:
        request, rollout, done = self._request, self._config.of(RolloutConfig), count(len(kept.asked) + 1)

        def keep(asked: Asked) -> None:
            kept.add(asked)
            progress(next(done), len(wanted.asked))

        manner = Manner(
            samples=self._samples,
            sampling=rollout.sampling,
            max_new_tokens=self._limits.completion,
            batch=rollout.batch_queries,
            seed=self._seed,
        )
        known = {asked.question_id for asked in kept.asked}
        needs = demand(self._config, self._limits, self._samples)
        async with examining(self._config, needs, self._engine, "--engine") as examiner:
            version = request.release.policy_version if request.release else 0
            await examiner.engine.load(self._model, version)
            await ask(examiner, list(wanted.asked.values()), known, manner, keep)

    def _about(self, wanted: Trials) -> About:
        prompt, rollout = self._config.of(PromptConfig), self._config.of(RolloutConfig)
        texts = {name: getattr(prompt, name) for name in ("template", "hint_template", "system")}
        return About(
            model=self._identity,
            trials=wanted.digest,
            prompt=texts,
            verifier=msgspec.json.encode(self._config.of(RewardConfig).verifier, order="sorted").decode(),
            samples=self._samples,
            temperature=rollout.temperature,
            max_new_tokens=self._limits.completion,
            seed=self._seed,
            engine=str(self._engine.get("kind")),
        )

    def _document(self, about: About, path: Path) -> dict[str, Any]:
        release = self._request.release
        shown = ("samples", "temperature", "max_new_tokens", "seed", "engine")
        return {
            "model": self._request.model,
            "policy_version": release and release.policy_version,
            **{name: getattr(about, name) for name in shown},
            "answers": str(path),
        }


def _engine(request: Request) -> dict[str, Any]:
    """The table of what samples. Raises ConfigError for what cannot, and for a rollout worker's servers."""
    if request.engine is None:
        table, setting = request.config.of(RolloutConfig).engine, "rollout.engine"
        _not_borrowed(table)
    else:
        table, setting = engine_table(request.engine), "--engine"
    verifier = request.config.of(RewardConfig).verifier
    problems = plugins.check(ENGINES, table, setting) + plugins.check(REWARDS, verifier, "reward.verifier")
    if problems:
        raise ConfigError("\n".join(problems))
    return table


def _not_borrowed(table: dict[str, Any]) -> None:
    """Raises ConfigError for servers that would be put on another policy under a run's rollout worker."""
    plugin, _ = plugins.configure(ENGINES, table, "rollout.engine")
    if getattr(plugin, "EXCLUSIVE", False):
        raise ConfigError(
            f"rollout.engine.kind is {table['kind']!r}, whose servers are the rollout worker's alone. Give "
            "--engine something of its own, such as transformers or '{kind = \"vllm\"}', which starts one."
        )


def _held(request: Request) -> AbstractContextManager[Path]:
    """The model on this machine, for as long as it is used. Raises ConfigError."""
    if request.release is None:
        return nullcontext(Path(request.model))
    try:
        return snapshots.hold(request.release.uri, request.release.digest)
    except SnapshotError as error:
        raise ConfigError(f"{error}. Give --model another model's directory.") from error


def _identity(model: Path) -> str:
    try:
        return snapshots.identity(model)
    except OSError as error:
        raise ConfigError(
            f"{model} is no model to sample with: {error}. Give --model a Hugging Face model's directory."
        ) from error

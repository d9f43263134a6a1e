"""What a rollout engine is: prompts in, sampled tokens with exact log-probs out, always newer weights.

Engines differ in how they are kept busy, and say so: one that samples whole batches is called with one batch
after the other, one that takes requests at any time is called for each prompt alone, many times at once.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from schemas import FinishReason, Sampling, VersionRun


@dataclass(frozen=True, slots=True)
class Sample:
    """One completion: ids [tokens] with the end-of-sequence token when it was sampled.

    logprobs [tokens] are of the distribution really sampled from, after temperature, top-k and top-p.
    """

    completion_ids: list[int]
    logprobs: list[float]
    policy: tuple[VersionRun, ...]
    finish_reason: FinishReason


@dataclass(frozen=True, slots=True)
class Demand:
    """What an engine will be asked for at most, known before it starts."""

    policy: Path
    """The model that every snapshot is of: a Hugging Face directory."""
    samples: int
    """Completions of one prompt."""
    prompt_tokens: int
    completion_tokens: int
    store: str | None = None
    """URL of the object storage that snapshots come from; None: they are in directories that servers see."""
    sender: str | None = None
    """`host:port` from which the trainer sends weights to engines that ask for them."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """How an engine is kept busy."""

    count: int = 1
    """Calls of `generate` side by side; more would only wait."""
    prompts: int | None = None
    """Prompts that one call should bring; None: as many as there are to ask together."""


def unsent(setting: str, weights: str) -> str:
    """That an engine wants its weights sent and nobody sends them."""
    return (
        f"{setting}.weights is {weights!r}, and run.weights_from is left out, so that the trainer sends no "
        "weights. Set it to host:port, the trainer's host as the servers reach it and a free port there, or "
        f"set {setting}.weights to 'snapshot'."
    )


@runtime_checkable
class Elsewhere(Protocol):
    """An engine whose weights are on other machines, which get by themselves what is in object storage, or
    what the trainer sends."""

    def fetches(self, uri: str) -> bool:
        """Whether they get the snapshot at `uri` by themselves: then nobody else has to."""
        ...

    async def load_from(self, uri: str, digest: str, version: int) -> None:
        """As Engine.load, of the snapshot at `uri` whose manifest has this digest. What is sampled meanwhile
        is sampled with the weights in use. Raises SnapshotError, StoreError."""
        ...


class Engine(Protocol):
    """Samples from the newest weights it was given. A plugin: `Config`, `build(config, demand) -> Engine`,
    and `EXCLUSIVE = True` where what its options name can serve one process alone; `is_sent(config)` where
    the trainer may have to send it weights."""

    @property
    def version(self) -> int | None:
        """Version of the weights in use; None before the first load."""
        ...

    @property
    def lanes(self) -> Lanes:
        """How to keep it busy; known once it is running."""
        ...

    async def load(self, path: Path, version: int) -> None:
        """Use the Hugging Face directory at `path` from the next call on; completions under way may change
        over to it, and their `policy` says where.

        Raises SnapshotError when it is gone or unreadable: the weights in use stay in use then.
        """
        ...

    async def generate(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        samples: int,
        sampling: Sampling,
        max_new_tokens: int,
        seed: int,
    ) -> list[list[Sample]]:
        """`samples` whole completions of each prompt, whatever that takes. Temperature 0 is greedy (log-probs
        of temperature 1). Any number of prompts, any number of calls at once."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Whatever must run beside sampling (a server, a watcher), for as long as the engine is used."""
        ...

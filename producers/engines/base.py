"""What a rollout engine is: prompts in, sampled tokens with exact log-probs out, weights swapped between."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

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


class Engine(Protocol):
    """Samples from the newest weights it was given. A plugin: `Config`, `build(config) -> Engine`."""

    @property
    def version(self) -> int | None:
        """Version of the weights in use; None before the first load."""
        ...

    async def load(self, path: Path, version: int) -> None:
        """Use the Hugging Face directory at `path` from the next call on.

        Raises SnapshotError when it is gone or unreadable.
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
        """`samples` completions of each prompt. Temperature 0 is greedy (log-probs of temperature 1)."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Whatever must run beside sampling (a server, a watcher), for as long as the engine is used."""
        ...

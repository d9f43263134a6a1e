"""The engine: models and sampling in a worker thread, so that the event loop stays alive meanwhile."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any

import anyio.from_thread
import anyio.to_thread
import torch

from producers.engines.base import Lanes, Sample
from producers.engines.transformers import device, weights
from producers.engines.transformers.config import Config
from producers.engines.transformers.decoding import Completion, decode
from producers.stops import stop_ids
from schemas import FinishReason, Sampling, VersionRun


class TransformersEngine:
    """Samples with transformers in this process; one call at a time, the others wait their turn."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.device = device.named(config.device)
        self._version: int | None = None
        self._model: Any = None
        self._architecture: dict[str, Any] = {}
        self._stop_ids: list[int] = []
        self._turn = anyio.CapacityLimiter(1)

    @property
    def version(self) -> int | None:
        """Version of the weights in use; None before the first load."""
        return self._version

    @property
    def lanes(self) -> Lanes:
        """One batch after the other, each as large as there are queries for it."""
        return Lanes()

    def running(self) -> AbstractAsyncContextManager[None]:
        """Nothing runs beside sampling."""
        return nullcontext()

    async def load(self, path: Path, version: int) -> None:
        """Use the Hugging Face directory at `path` from the next call on.

        Raises SnapshotError when it is gone or unreadable; the weights in use stay in use then.
        """
        await anyio.to_thread.run_sync(self._load, path, version, limiter=self._turn)

    async def generate(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        samples: int,
        sampling: Sampling,
        max_new_tokens: int,
        seed: int,
    ) -> list[list[Sample]]:
        """`samples` completions of each prompt; the same arguments and weights give the same ones again.

        Cancelled, it gives up at the next token.
        """
        return await anyio.to_thread.run_sync(
            self._generate, prompts, samples, sampling, max_new_tokens, seed, limiter=self._turn
        )

    def _load(self, path: Path, version: int) -> None:
        self._use_threads()
        architecture, stops = weights.architecture(path), stop_ids(path)
        if architecture != self._architecture or not weights.swap(self._model, path):
            self._model = weights.load(path, self.device, self.config.dtype)
        self._architecture, self._stop_ids, self._version = architecture, stops, version

    def _generate(
        self,
        prompts: Sequence[Sequence[int]],
        samples: int,
        sampling: Sampling,
        max_new_tokens: int,
        seed: int,
    ) -> list[list[Sample]]:
        assert self._model is not None, "load a policy first"
        self._use_threads()
        dice = torch.Generator().manual_seed(seed)
        draws = torch.rand(len(prompts), samples, max_new_tokens, dtype=torch.float64, generator=dice)
        out: list[list[Sample]] = [[] for _ in prompts]
        for some, numbers in _turns(len(prompts), samples, self.config.max_batch):
            chunk, draws_RT = prompts[some], draws[some, numbers].flatten(0, 1)
            check = anyio.from_thread.check_cancelled
            rows = iter(decode(self._model, chunk, sampling, self._stop_ids, draws_RT, check))
            for place in range(len(prompts))[some]:
                out[place] += [self._sample(next(rows)) for _ in range(samples)[numbers]]
        return out

    def _sample(self, row: Completion) -> Sample:
        assert self._version is not None
        run = VersionRun(policy_version=self._version, count=len(row.ids))
        reason = FinishReason.STOP if row.stopped else FinishReason.LENGTH
        return Sample(completion_ids=row.ids, logprobs=row.logprobs, policy=(run,), finish_reason=reason)

    def _use_threads(self) -> None:
        """The setting belongs to the calling thread, and worker threads come and go."""
        if self.config.num_threads is not None:
            torch.set_num_threads(self.config.num_threads)


def _turns(prompts: int, samples: int, max_batch: int) -> Iterator[tuple[slice, slice]]:
    """Which prompts, and which of their samples, are sampled together: at most `max_batch` completions."""
    share = min(samples, max_batch)
    together = max_batch // share
    for first in range(0, prompts, together):
        for number in range(0, samples, share):
            yield slice(first, first + together), slice(number, number + share)

"""The engine: every prompt goes to the server with the least to do, until all its completions are there."""

import itertools
import logging
import math
import os
import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from mentor_stream import snapshots
from mentor_stream.config import ConfigError
from mentor_stream.snapshots import SnapshotError, StoreError
from producers.engines.base import Demand, Lanes, Sample, unsent
from producers.engines.vllm import wire
from producers.engines.vllm.api import Api, Down
from producers.engines.vllm.board import Board, Weights
from producers.engines.vllm.child import Child
from producers.engines.vllm.config import Config
from producers.engines.vllm.server import Failed, Lost, Server
from producers.engines.vllm.update import Gone, Unusable
from producers.stops import stop_ids
from schemas import Sampling

FRUITLESS = 5
"""Replies in a row without one whole completion, after which the server is made sure of again."""
PATIENCE = 20
"""Such replies to one prompt, after which the worker ends: others would only wait with it."""

log = logging.getLogger(__name__)


class Unanswered(Exception):
    """A prompt that servers at work do not complete."""


class VllmEngine:
    """Samples with vLLM servers."""

    def __init__(self, config: Config, demand: Demand) -> None:
        self._config, self._demand = config, demand
        self._board = Board()
        self._servers: list[Server] = []
        self._turns = anyio.CapacityLimiter(1)
        self._version: int | None = None
        self._names = (f"{os.getpid()}-{secrets.token_hex(4)}-{number}" for number in itertools.count())

    @property
    def version(self) -> int | None:
        """Version of the weights that servers are wanted to be on; None before the first load."""
        return self._version

    @property
    def urls(self) -> tuple[str, ...]:
        """Of its servers."""
        return tuple(server.api.url for server in self._servers)

    @property
    def in_flight(self) -> int:
        """Completions that servers have in hand for it."""
        return sum(server.in_flight for server in self._servers)

    @property
    def lanes(self) -> Lanes:
        """A call for each prompt, as many as all servers have in hand; one that was not ready yet is taken to
        be like the largest of the others."""
        most = max((server.capacity for server in self._servers), default=0)
        capacity = sum(server.capacity or most for server in self._servers)
        return Lanes(count=max(1, capacity // self._demand.samples), prompts=1)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Find or start the servers. Raises ConfigError when one cannot be used or none is ready in time."""
        async with anyio.create_task_group() as tasks:
            urls, end = self._config.urls, None
            if not urls:
                child = Child(self._config, self._demand)
                await tasks.start(child.keep_alive)
                urls, end = (child.url,), child.kill
            apis = [Api(url, self._config) for url in urls]
            self._servers = [Server(api, self._config, self._demand, self._board, end) for api in apis]
            try:
                await self._first_ready(tasks)
                self._turns.total_tokens = self.lanes.count
                yield
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    for api in apis:
                        await api.aclose()

    async def _first_ready(self, tasks: anyio.abc.TaskGroup) -> None:
        for server in self._servers:
            tasks.start_soon(server.keep)
        names = ", ".join(self.urls)
        log.info("waiting for vLLM at %s", names)
        with anyio.move_on_after(self._config.start_seconds):
            while not any(server.ready for server in self._servers):
                await self._board.room.wait()
            return
        raise ConfigError(
            f"rollout.engine.urls: no answer from {names} within {self._config.start_seconds:g} s "
            "(rollout.engine.start_seconds). Is `vllm serve` running there?"
        )

    async def load(self, path: Path, version: int) -> None:
        """Have all servers load the snapshot while they sample; returns once one of them is on it.

        Raises SnapshotError when none of those at work could read it.
        """
        await self._load({"path": str(path.absolute())}, version, stop_ids(path))

    def fetches(self, uri: str) -> bool:
        """Whether servers get the snapshot by themselves: from a store, or as the trainer sends it."""
        return self._config.weights != "snapshot" or snapshots.local(uri) is None

    async def load_from(self, uri: str, digest: str, version: int) -> None:
        """Have all servers fetch the snapshot, or be sent it, then load it, while they sample.

        Raises SnapshotError when it is gone or damaged, StoreError when no server at work could get it.
        """
        source = {"uri": uri, "digest": digest}
        if self._config.weights != "snapshot":
            if self._demand.sender is None:
                raise ConfigError(unsent("rollout.engine", self._config.weights))
            source = {"sender": self._demand.sender, "digest": digest, "backend": self._config.weights}
        await self._fetch(source)
        await self._load(source, version, stop_ids(self._demand.policy))

    async def _fetch(self, source: Mapping[str, str]) -> None:
        """Before it is wanted: servers that are not on what is wanted get no work."""
        failures: list[Exception] = []

        async def fetch(server: Server) -> None:
            try:
                await server.fetch(source)
            except (Unusable, Down) as failure:
                failures.append(failure)

        asked = [server for server in self._servers if server.ready]
        async with anyio.create_task_group() as tasks:
            for server in asked:
                tasks.start_soon(fetch, server)
        if asked and len(failures) == len(asked):
            kind = SnapshotError if all(isinstance(f, Gone) for f in failures) else StoreError
            raise kind("; ".join(dict.fromkeys(map(str, failures))))

    async def _load(self, source: Mapping[str, str], version: int, stops: Sequence[int]) -> None:
        weights = Weights(source, version, f"{version}-{next(self._names)}", stops)
        before = self._board.wanted
        self._board.want(weights)
        while not any(server.label == weights.label for server in self._servers):
            refusals = [s.refusal for s in self._servers if s.ready or s.refusal]
            if refusals and all(refusal and refusal.label == weights.label for refusal in refusals):
                self._board.want(before)
                said = [refusal for refusal in refusals if refusal]
                kind = StoreError if any(math.isfinite(refusal.until) for refusal in said) else SnapshotError
                raise kind("; ".join(dict.fromkeys(refusal.why for refusal in said)))
            await self._board.room.wait()
        self._version = version

    async def generate(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        samples: int,
        sampling: Sampling,
        max_new_tokens: int,
        seed: int,
    ) -> list[list[Sample]]:
        """`samples` completions of each prompt. What a lost server was asked is asked again, what one aborted
        is refilled: a prompt's completions may come from several servers and policies."""
        found: list[list[Sample]] = [[] for _ in prompts]
        different = samples if sampling.temperature else 1  # vLLM makes no two that must be alike

        async def complete(place: int) -> None:
            async with self._turns:
                own = seed + place * samples
                got = await self._complete(prompts[place], different, sampling, max_new_tokens, own)
                found[place] = got * (samples // different)

        async with anyio.create_task_group() as tasks:
            for place in range(len(prompts)):
                tasks.start_soon(complete, place)
        return found

    async def _complete(
        self, prompt: Sequence[int], samples: int, sampling: Sampling, max_new_tokens: int, seed: int
    ) -> list[Sample]:
        got: list[Sample] = []
        failures = 0
        while len(got) < samples:
            server = await self._room(samples - len(got))
            wanted = min(samples - len(got), server.sequences)
            assert self._board.wanted is not None, "load a policy first"
            body = wire.request(
                prompt,
                samples=wanted,
                sampling=sampling,
                max_new_tokens=max_new_tokens,
                stop_ids=self._board.wanted.stop_ids,
                seed=seed + len(got) if server.takes_seeds else None,
            )
            try:
                new = await self._asked(server, body, wanted, max_new_tokens)
            except Lost:
                continue
            except Failed as failed:
                failures += 1
                self._judge(server, failures, failed)
            else:
                got += new
                failures = 0
        return got

    async def _asked(self, server: Server, body: object, samples: int, max_new_tokens: int) -> list[Sample]:
        """What one request came to: a whole completion at least. Raises Lost, Failed."""
        reply = await server.generate(body, samples, wire.longest_reply(samples, max_new_tokens))
        try:
            found = wire.read(reply, samples, max_new_tokens, self._board.versions)
        except wire.Garbled as garbled:
            raise Failed(str(garbled)) from garbled
        except wire.Foreign as foreign:
            server.lose(str(foreign))
            raise Lost(str(foreign)) from foreign
        if not found:
            raise Failed("all completions were aborted")
        return found

    def _judge(self, server: Server, failures: int, failed: Failed) -> None:
        """A server that fails again and again is made sure of. Raises Unanswered when that is no help."""
        if failures >= PATIENCE:
            raise Unanswered(
                f"{server.api.url} works, but failed {failures} times in a row to complete one prompt; at "
                f"last: {failed}. Its own log may say why."
            ) from failed
        if failures % FRUITLESS == 0:
            server.lose(f"{FRUITLESS} replies in a row without a whole completion, at last: {failed}")

    async def _room(self, samples: int) -> Server:
        """The server with the least to do, once one serves and has room."""
        while True:
            free = [server for server in self._servers if server.has_room(samples)]
            if free:
                return min(free, key=lambda server: server.in_flight / server.capacity)
            await self._board.room.wait()

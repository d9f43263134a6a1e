"""A pool of workers: starts them when they are needed, calls them, and kills whoever takes too long.

A worker that is lost is replaced at the next call.
"""

import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal

import anyio
import anyio.abc
import msgspec
from anyio.streams.buffered import BufferedByteReceiveStream

from mentor_stream.workers.frames import LENGTH, Reply, Request, Setup, frame

Resource = Literal["cpu", "memory", "clock"]


class WorkerError(Exception):
    """A call that brought no result."""


class WorkerExhausted(WorkerError):
    """The call used up the CPU seconds, the memory or the time by the clock that it was allowed."""

    def __init__(self, resource: Resource) -> None:
        super().__init__(f"used up the {resource} allowance")
        self.resource = resource


class WorkerDied(WorkerError):
    """The process could not start, crashed, left or was killed by somebody else."""


class WorkerFailed(WorkerError):
    """The handler raised; the text names its exception."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one call may use."""

    clock_seconds: float
    cpu_seconds: int
    memory_bytes: int | None


class Pool:
    """At most `size` workers, made when they are needed. Calls beyond that wait."""

    def __init__(
        self, factory: str, argument: Any, size: int, allowance: Allowance, start_seconds: float
    ) -> None:
        self._setup = Setup(factory=factory, argument=argument, memory_bytes=allowance.memory_bytes)
        self._allowance, self._start_seconds = allowance, start_seconds
        self._slots = anyio.Semaphore(size)
        self._idle: list[_Worker] = []

    async def call(self, payload: Any, *, fresh: bool = False) -> Any:
        """The handler's result for a payload, both of MessagePack's types.

        `fresh` asks for a worker that has served nobody. Raises WorkerExhausted, WorkerDied,
        WorkerFailed; after the first two the worker is gone. A cancelled call kills its worker.
        """
        async with self._slots:
            worker = await self._take(fresh)
            request = Request(payload=payload, cpu_seconds=self._allowance.cpu_seconds)
            reply = await worker.ask(request, self._allowance.clock_seconds)
            self._idle.append(worker)
        if reply.kind == "raised":
            raise WorkerFailed(reply.value)
        return reply.value

    async def start(self) -> None:
        """Have one worker ready. Raises WorkerDied when the handler cannot be made."""
        async with self._slots:
            self._idle.append(await self._take(fresh=False))

    async def close(self) -> None:
        """Kill the workers that wait for work."""
        while self._idle:
            await self._idle.pop().kill()

    async def _take(self, fresh: bool) -> "_Worker":
        while self._idle:
            worker = self._idle.pop()
            if worker.alive and not fresh:
                return worker
            await worker.kill()
            if fresh:
                break  # one made room for the new one, the others stay
        return await _start(self._setup, self._start_seconds)


class _Worker:
    """The parent's side of one process."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._requests = process, process.stdin
        self._replies = BufferedByteReceiveStream(process.stdout)

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def ask(self, message: msgspec.Struct, seconds: float) -> Reply:
        """One exchange. Whatever way it fails, the process is dead afterwards."""
        answered = False
        try:
            with anyio.fail_after(seconds):
                reply = await self._exchange(frame(message))
            answered = reply.kind != "memory"
        except TimeoutError:
            raise WorkerExhausted("clock") from None
        except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead):
            raise await self._post_mortem() from None
        except msgspec.DecodeError:
            raise WorkerDied(
                "something else than the worker wrote into its replies, so it was ended"
            ) from None
        finally:
            if not answered:
                await self.kill()
        if not answered:
            raise WorkerExhausted("memory")
        return reply

    async def _exchange(self, data: bytes) -> Reply:
        await self._requests.send(data)
        (length,) = LENGTH.unpack(await self._replies.receive_exactly(LENGTH.size))
        return msgspec.msgpack.decode(await self._replies.receive_exactly(length), type=Reply)

    async def _post_mortem(self) -> WorkerError:
        await self.kill()  # it may have closed the pipe and lived on; the dead keep their exit status
        code = self._process.returncode
        if code == -signal.SIGXCPU:
            return WorkerExhausted("cpu")
        end = f"signal {signal.Signals(-code).name}" if code and code < 0 else f"exit status {code}"
        return WorkerDied(f"the worker process ended with {end}")

    async def kill(self) -> None:
        """End the process and all it started, and wait for it."""
        with anyio.CancelScope(shield=True), suppress(ProcessLookupError):
            if self.alive:
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.aclose()


async def _start(setup: Setup, seconds: float) -> _Worker:
    single_threaded = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    process = await anyio.open_process(
        [sys.executable, "-m", "mentor_stream.workers.process"],
        stderr=None,  # inherited: what a handler prints is the component's log
        env=os.environ | single_threaded,
        start_new_session=True,
    )
    worker = _Worker(process)
    try:
        reply = await worker.ask(setup, seconds)
    except WorkerError as error:
        raise WorkerDied(f"a worker for {setup.factory} could not start: {error}") from error
    if reply.kind == "raised":
        await worker.kill()
        raise WorkerDied(f"a worker for {setup.factory} could not start: {reply.value}")
    return worker


@asynccontextmanager
async def pool(
    factory: str,
    argument: Any = None,
    *,
    size: int = 2,
    timeout: float = 10.0,
    cpu_seconds: int | None = None,
    memory_megabytes: int | None = None,
    start_timeout: float = 120.0,
) -> AsyncGenerator[Pool]:
    """Workers for the handler that `factory` (`module:function`) makes of `argument`, in their own process.

    `timeout` bounds each call by the clock, `cpu_seconds` (by default the same, rounded up) by the CPU
    time used; `memory_megabytes` bounds a worker's address space. One worker starts at once: raises
    WorkerDied when it cannot.
    """
    cpu = max(1, round(timeout + 0.5)) if cpu_seconds is None else cpu_seconds
    memory = None if memory_megabytes is None else memory_megabytes * 2**20
    workers = Pool(factory, argument, size, Allowance(timeout, cpu, memory), start_timeout)
    try:
        await workers.start()
        yield workers
    finally:
        with anyio.CancelScope(shield=True):
            await workers.close()

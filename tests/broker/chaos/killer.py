"""Kills and stalls workers, and the broker, by plan, while the work goes on."""

import logging
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf

import anyio

from mentor_stream import broker as brokers
from tests.broker.chaos.crew import PATIENCE_SECONDS, Place
from tests.broker.chaos.journal import History, Woken, now
from tests.broker.chaos.plan import Round
from tests.broker.chaos.workers import Job
from tests.cluster import Cluster

log = logging.getLogger(__name__)

PRODUCERS, CONSUMERS = 3, 3
KEYS = 8
"""Of each producer, which has a message of each under way at once."""
STOPPED = 128 + signal.SIGTERM
TRACE = "most recent call first"
"""Each trace of a worker says so."""
TRACE_SECONDS = 1.0
"""So long the workers have to write down what they are doing, when that is of interest."""


class Killer:
    """Three producers, three consumers and a watcher, and what becomes of them."""

    def __init__(
        self, job: Job, cluster: Cluster | None = None, look: Callable[[], None] = lambda: None
    ) -> None:
        self.history = History()
        self._job, self._cluster, self._look = job, cluster, look
        self._producers = [
            Place("producer", number, job, [f"{number}-{key}" for key in range(KEYS)])
            for number in range(PRODUCERS)
        ]
        self._consumers = [Place("consumer", number, job) for number in range(CONSUMERS)]
        self._watcher = Place("watcher", 0, job)
        self._running: list[Place] = []
        self._thread = ThreadPoolExecutor(1)
        self._restart: Future[None] | None = None
        self._broker_wakes_at: float | None = None

    @property
    def _workers(self) -> list[Place]:
        return [*self._producers, *self._consumers]

    def run(self, rounds: Sequence[Round]) -> None:
        """Start the workers, strike, and let what is left come to an end."""
        for place in [*self._workers, self._watcher]:
            self._start(place)
        try:
            for number, blow in enumerate(rounds):
                self._strike(number, blow)
            self._settle()
        finally:
            for place in self._running:
                place.close()
            self._thread.shutdown()

    def _strike(self, number: int, blow: Round) -> None:
        victims = self._victims(blow)
        self._wait(blow.delay)
        log.info("round %d: %s %s", number, blow.kind, " ".join(place.member for place in victims))
        match blow.kind.split():
            case ["kill", "broker"]:
                self._restart_broker()
            case ["stall", "broker"]:
                self._stall_broker(blow.stall)
            case ["kill", _]:
                self._replace(victims)
            case _:
                self._stall(victims[0], blow.stall)

    def _victims(self, blow: Round) -> list[Place]:
        match blow.kind.split():
            case [_, "everyone"]:
                return [*self._workers, self._watcher]
            case [_, "broker"]:
                self._broker_back()
                return []
            case [_, role]:
                among = [place for place in self._workers if place.role == role]
            case _:
                raise ValueError(blow.kind)
        if blow.early:
            return [max(among, key=lambda place: place.started_at)]
        self._until(lambda: any(place.at_work for place in among), f"no {role} is at work any more")
        at_work = [place for place in among if place.at_work]
        return [at_work[int(blow.choice * len(at_work))]]

    def _replace(self, victims: Sequence[Place]) -> None:
        for place in victims:
            place.signal(signal.SIGKILL)
        for place in victims:
            self._bury(place, -signal.SIGKILL)
            self._start(place)

    def _stall(self, victim: Place, seconds: float) -> None:
        victim.signal(signal.SIGSTOP)
        victim.wakes_at = now() + seconds

    def _wake_up(self) -> None:
        for place in self._workers:
            if place.wakes_at is not None and place.wakes_at < now():
                self._wake(place)
        if self._broker_wakes_at is not None and self._broker_wakes_at < now():
            assert self._cluster is not None
            self._cluster.resume(1)
            self._broker_wakes_at = None

    def _wake(self, place: Place) -> None:
        place.wakes_at = None
        place.mark()
        self.history.journals.setdefault("killer", []).append(Woken(now(), place.member))
        place.signal(signal.SIGCONT)

    def _stall_broker(self, seconds: float) -> None:
        assert self._cluster is not None
        self._cluster.stop(1)
        self._broker_wakes_at = now() + seconds

    def _restart_broker(self) -> None:
        """It comes back while the rounds go on."""
        assert self._cluster is not None
        self._cluster.kill(1)
        self._restart = self._thread.submit(self._cluster.start, 1)

    def _broker_back(self) -> None:
        """Wait until everybody works on after the last blow to it."""
        if self._restart is not None:
            self._until(self._restart.done, "the broker does not start")
            self._restart.result()
            self._restart = None
        self._until(lambda: self._broker_wakes_at is None, "nobody wakes the broker")
        for place in self._workers:
            place.mark()
        self._until(lambda: all(place.at_work for place in self._workers), "somebody does nothing any more")

    def _settle(self) -> None:
        """Everybody gets on with the work; then producers stop, and consumers when they are through."""
        self._broker_back()
        self._stop(self._producers, STOPPED)
        self._drain()
        self._stop(self._consumers, STOPPED)
        self._stop([self._watcher], -signal.SIGTERM)

    def _stop(self, places: Sequence[Place], status: int) -> None:
        for place in places:
            place.signal(signal.SIGTERM)
        for place in places:
            self._bury(place, status)

    def _start(self, place: Place) -> None:
        place.start()
        self._running.append(place)

    def _bury(self, place: Place, status: int) -> None:
        self._running.remove(place)
        self.history.journals[place.member] = place.ended(status)

    def _drain(self) -> None:
        least, since = inf, now()
        while lag := anyio.run(_lag, self._job, backend="trio"):
            if lag < least:
                least, since = lag, now()
            assert now() < since + PATIENCE_SECONDS, f"{lag} messages stay undone:\n{self._complaints()}"
            self._wait(0.1)

    def _until(self, condition: Callable[[], bool], otherwise: str) -> None:
        deadline = now() + PATIENCE_SECONDS
        while not condition():
            assert now() < deadline, f"{otherwise}:\n{self._complaints()}"
            self._wait(0.01)

    def _complaints(self) -> str:
        for place in self._running:
            place.signal(signal.SIGUSR1)
        overdue = now() + TRACE_SECONDS  # one that is stopped tells nothing
        while now() < overdue and not all(TRACE in place.complaints() for place in self._running):
            time.sleep(0.01)
        return "\n".join(f"{place.member}, {place.state}: {place.complaints()}" for place in self._running)

    def _wait(self, seconds: float) -> None:
        """Let the others work; meanwhile those are woken whose time has come."""
        end = now() + seconds
        while True:
            self._wake_up()
            for place in self._running:
                place.check()
            self._look()
            if now() >= end:
                return
            time.sleep(0.01)


async def _lag(job: Job) -> int:
    async with brokers.connect(job.url) as broker:
        return await broker.lag(job.topic, job.group)

"""Everything that is known of a run at one moment, in bounded memory, and what of it is new to a reader."""

import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import anyio

from consumers.following import Event
from consumers.monitor import documents, measures
from consumers.monitor.documents import Document
from consumers.monitor.feed import Feed
from consumers.monitor.gathering import gathered
from consumers.monitor.health import Health
from consumers.monitor.index import Index
from consumers.monitor.lately import Lately
from consumers.monitor.measures import Measures
from consumers.monitor.verdict import verdict
from mentor_stream.config import RunConfig
from mentor_stream.supervisor import figures
from schemas import Metric, PolicyRelease

REPORTS = 1_000
"""Processes whose last report is kept."""


class Queue(NamedTuple):
    """Work that waits."""

    topic: str
    reader: str
    """Who is to deal with it."""
    waiting: int


@dataclass(frozen=True, slots=True)
class Stand:
    """What the broker said last."""

    asked: float = 0.0
    """When it answered, seconds since the epoch; 0 for never."""
    queues: tuple[Queue, ...] = ()
    dead_letters: int = 0
    away: str = ""
    """Why it does not answer now."""


class Board:
    """Fed by watching.py; read by any number of clients, each with a mark of how far it has read."""

    def __init__(self, run: RunConfig) -> None:
        self.run = run.name
        self.measures, self.health, self.feed, self.index = Measures(), Health(), Feed(), Index()
        self.lately = Lately()
        self.figures = figures.begin(run)
        self.stand = Stand()
        self.release: PolicyRelease | None = None
        self.newest = 0.0
        """When the newest record seen was appended."""
        self.unreadable = 0
        self.caught_up = False
        """Whether what was there when watching began has been read."""
        self.mark = 1
        """Of what is taken now; readers have all before it."""
        self._changed, self._told = False, 0
        self._news = anyio.Event()

    def take(self, event: Event) -> None:
        """One record more."""
        self._changed = True
        self.newest = max(self.newest, event.time)
        match event.record:
            case None:
                self.unreadable += 1
            case Metric() as metric:
                self._measure(metric, event.time)
            case PolicyRelease() as release:
                self.release = release
            case _:
                self.index.take(event)
                self.feed.take(event, self.mark)

    def tell(self, now: float) -> None:
        """Let readers know what was taken, if anything; `now` is the time of the stream.

        Hints wait until all that was there has been read: what belongs to them comes in any order.
        """
        if self.caught_up and self.feed.tell(now, self.mark, self.index.since):
            self._changed = True
        if self._changed:
            self._changed, self._told = False, self.seal()
            self._news.set()
            self._news = anyio.Event()

    def hear(self, stand: Stand) -> None:
        """What the broker said, or that it said nothing."""
        self._changed = self._changed or stand.away != self.stand.away or stand.queues != self.stand.queues
        self.stand = stand

    def seal(self) -> int:
        """The mark up to which all has been taken: what comes now is behind it."""
        self.mark += 1
        return self.mark - 1

    async def news(self, mark: int) -> None:
        """Wait until something behind `mark` is told."""
        while self._told <= mark:
            await self._news.wait()

    def document(self, mark: int = 0) -> Document:
        """What came behind `mark`: all of it behind 0."""
        if whole := self.feed.misses(mark):
            mark = 0
        left_out = () if self._mentored else measures.OF_MENTORS
        curves = {name: curve for name, curve in self.measures.curves.items() if name not in left_out}
        told = {name: curve.since(mark) for name, curve in curves.items()}
        document: Document = {
            "curves": {
                name: {"whole": since.whole or not mark, "points": documents.points(since.points)}
                for name, since in told.items()
                if since.points or since.whole or not mark
            },
            "hints": {"whole": whole or not mark, "newest": self.feed.since(mark)},
            "status": self._status(time.time()),
        }
        return document if mark else {"run": self.run, "panels": _panels(), **document}

    @property
    def _mentored(self) -> bool:
        return any(of == "mentor" for of, _ in self.figures.reports)

    @property
    def _finished(self) -> bool:
        return bool(self.release and self.release.final)

    def _measure(self, metric: Metric, arrived: float) -> None:
        self.measures.take(metric, self.mark, arrived)
        self.health.take(metric, arrived)
        self.lately.take(metric, arrived)
        self.figures = figures.observe(self.figures, metric)
        if len(self.figures.reports) > REPORTS:
            newest = sorted(self.figures.reports.items(), key=lambda one: one[1].time)[-REPORTS // 2 :]
            self.figures = replace(self.figures, reports=dict(newest))

    def _status(self, now: float) -> Document:
        latest = self.figures.latest
        finished = self._finished
        return {
            "now": round(now, 2),
            "newest": self.newest or None,
            "caught_up": self.caught_up,
            "broker": {"answered": self.stand.asked or None, "away": self.stand.away or None},
            "version": self.figures.version if self.figures.steps else None,
            "tokens": self.release.consumed.tokens
            if finished and self.release
            else latest.get("generated_tokens"),
            "progress": self.figures.progress(),
            "seconds_left": self.figures.seconds_left(now),
            "finished": finished,
            "rates": {
                "rescue_rate": self.figures.rescue_rate,
                "zero_reward_fraction": self.figures.collapse_rate,
            },
            "verdict": self.verdict(now),
            "queues": [] if finished else self._queues(latest.get("pending_groups")),
            "dead_letters": self.stand.dead_letters,
            "unreadable": self.unreadable,
            "processes": [
                {
                    "component": documents.cut(one.component, 60),
                    "instance": documents.cut(one.instance, 100),
                    "reported": round(one.reported, 2),
                    "quiet": one.quiet(now),
                }
                for one in self.health.processes(now)
            ],
        }

    def verdict(self, now: float) -> Document:
        """How the run does at a moment, in a sentence."""
        told = gathered(
            self.health,
            self.measures,
            self.lately,
            self.figures,
            now,
            away=self.stand.away,
            heard=self.stand.asked > 0,
            finished=self._finished,
            waiting={queue.topic: queue.waiting for queue in self.stand.queues},
            dead_letters=self.stand.dead_letters,
        )
        found = verdict(told)
        return {"state": found.state, "sentence": found.sentence, "remarks": list(found.remarks)}

    def _queues(self, pending: float | None) -> list[Document]:
        """What waits on the stream, and at the trainer for its next batch.

        Nobody waits for a mentor that never reported: there is none where the guide teaches nothing. Not of a
        run that is over: an archive of one has its records, and no group's place among them.
        """
        queues = [one._asdict() for one in self.stand.queues if one.reader != "mentor" or self._mentored]
        if pending is not None:
            batch = self.figures.batch_groups
            queues.append({"topic": "groups", "reader": "trainer", "waiting": int(pending), "of": batch})
        return queues


def _panels() -> list[Document]:
    return [
        {
            "title": panel.title,
            "note": panel.note,
            "form": panel.form,
            "lines": [line._asdict() for line in panel.lines],
        }
        for panel in measures.PANELS
    ]

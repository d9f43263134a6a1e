"""A retraining at work: recorded batches through the learner that training itself has, on all ranks."""

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from anyio.from_thread import BlockingPortal

from mentor_stream import disk, snapshots
from mentor_stream.config import Config
from schemas import Group
from trainer import checkpoint, journal, orders, stopping
from trainer.config import TrainerConfig
from trainer.health import Health
from trainer.intake.preparation import Preparation
from trainer.journal import Journal
from trainer.orders import AllRanks
from trainer.packing.shares import shares
from trainer.retraining import batches
from trainer.retraining.recorded import Recorded, arrivals, opened
from trainer.retraining.request import Request
from trainer.retraining.told import Told


def run(request: Request, config: Config) -> None:
    """Train to the end of the recording, or until asked to stop: then SystemExit(128 + signal)."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s: %(message)s")

    def lead(everyone: AllRanks) -> int | None:
        with opened(request.url, request.run) as (portal, found):
            return Retraining(request, config, everyone, portal, found).run()

    orders.run(config, lead)


class Retraining:
    """Rank 0."""

    def __init__(
        self, request: Request, config: Config, learner: AllRanks, portal: BlockingPortal, found: Recorded
    ) -> None:
        self._request, self._config, self._learner = request, config, learner
        self._portal, self._found = portal, found
        self._settings, self._version = config.of(TrainerConfig), 0
        self._journal, self._health = Journal(request.folder / "batches.jsonl"), Health(self._settings)
        self._stop = stopping.watch()

    def run(self) -> int | None:
        """To the end, or to the reason to stop."""
        losses = self._portal.call(self._found.losses)
        self._begin()
        told = Told(self._request.folder / "steps.jsonl", losses, self._request.as_json)
        for groups in self._batches():
            if self._stop.is_set() or self._version == self._request.until:
                break
            step = self._learner.step(shares(groups, self._settings))
            with disk.writing("--to", self._request.folder):
                self._journal.add(self._version, groups)
            self._version += 1
            told.stepped(self._version, len(groups), step)
            self._health.check(self._version, step)
        policy = self._write_policy()
        told.ended(self._version, self._found.unreadable, policy)
        return self._stop.reason

    def _begin(self) -> None:
        if self._request.checkpoint is not None:
            found = checkpoint.read(self._request.checkpoint)
            self._learner.load(found.shards)
            self._version = found.state.version

    def _batches(self) -> Iterator[list[Group]]:
        coming = arrivals(self._portal, self._found)
        if self._request.batches is None:
            model = self._learner.architecture
            rules = Preparation(self._config, vocabulary=model.vocabulary, positions=model.max_positions)
            return batches.anew(rules, coming)
        return batches.as_recorded(journal.read(self._request.batches)[self._version :], coming)

    def _write_policy(self) -> Path:
        fill = partial(self._learner.write_policy, self._config.run.policy, self._version)
        return snapshots.write(self._request.folder / "snapshots", self._version, fill, "--to").path

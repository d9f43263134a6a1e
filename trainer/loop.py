"""The trainer's process: groups in, steps, releases and checkpoints out.

Rank 0 runs the Lead; the other ranks follow its orders. After every arrival the next batch is cut if it
is full, so the course of a run depends on the order of arrival and on nothing else.
"""

import logging
import sys
from functools import partial
from pathlib import Path

from mentor_stream.config import Config
from mentor_stream.stream import Delivery
from schemas import Group, RecordError
from trainer import orders, ranks, stopping
from trainer.checkpoint import Checkpoints
from trainer.config import TrainerConfig
from trainer.health import Health
from trainer.hf import conversion
from trainer.intake import stream as streams
from trainer.intake.batches import Arrivals, CutRule, Pending
from trainer.intake.marks import Marks
from trainer.intake.places import place_of
from trainer.intake.stream import TrainerStream
from trainer.intake.validation import validate
from trainer.journal import Journal
from trainer.learning import reference
from trainer.learning.learner import Learner
from trainer.model import architecture
from trainer.orders import AllRanks
from trainer.release import Releases
from trainer.report import Report, ages

log = logging.getLogger(__name__)

PATIENCE = 0.2
"""Seconds to wait for a group before looking at the stop flag again."""
IDLE_TURNS = 15
"""Turns without a group after which, once told to finish, there is none left."""


def run(config: Config) -> None:
    """Train until the run is over, or until asked to stop: then SystemExit(128 + signal).

    Raises what cannot be survived.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("megatron").setLevel(logging.WARNING)
    settings = config.of(TrainerConfig)
    ranks.start(
        tensor_parallel=settings.tensor_parallel,
        pipeline_parallel=settings.pipeline_parallel,
        context_parallel=settings.context_parallel,
        seed=config.run.seed,
    )
    learner = Learner(settings, config.run.policy, architecture.read(config.run.policy))
    stopped_by = None
    if ranks.is_lead():
        everyone = AllRanks(learner)
        with streams.connect(config) as stream:
            stopped_by = Lead(config, everyone, stream).run()
        everyone.leave()
    else:
        orders.follow(learner)
    ranks.stop()
    if stopped_by is not None:
        sys.exit(128 + stopped_by)


class Lead:
    """Rank 0: the only one that talks to the stream."""

    def __init__(self, config: Config, learner: AllRanks, stream: TrainerStream) -> None:
        self.config, self.settings = config.run, config.of(TrainerConfig)
        self.learner, self.stream = learner, stream
        self.version = self.step = self.saved = 0
        """Batches trained, optimizer steps taken, and the version of the last checkpoint."""
        directory, settings = self.config.directory, self.settings
        self.arrivals, self.marks = Arrivals(cut_rule(config)), Marks()
        self.releases = Releases(directory / "snapshots", stream, settings.keep_snapshots)
        self.checkpoints = Checkpoints(
            directory.resolve() / "checkpoints",
            self.config.policy,
            settings.keep_checkpoints,
            reference.identity(settings, self.config.policy),
        )
        self.journal = Journal(directory / "batches.jsonl")
        self.report, self.health = Report(stream), Health(settings)
        self.stop, self.finish = stopping.watch(), stopping.watch_for_finish()
        self.idle_turns = 0

    def run(self) -> int | None:
        """From the newest checkpoint, or from run.policy, to the end of the run; or the reason to stop."""
        self._resume()
        self.journal.keep(self.version)
        self._release(final=self.is_over)
        while not self.is_over and not self.stop.is_set():
            self._turn()
        # A checkpoint of this version is good enough: what arrived after it will be read again.
        if self.saved != self.version:
            self._save()
        if not self.is_over:
            return self.stop.reason
        self._release(final=True)
        return None

    @property
    def is_over(self) -> bool:
        """Whether the run has its tokens or its batches, or was told to finish and has no group left."""
        if self.finish.is_set() and self.idle_turns >= IDLE_TURNS:
            return True
        tokens, versions = self.config.max_tokens, self.config.max_versions
        return (tokens is not None and self.arrivals.booked.tokens >= tokens) or (
            versions is not None and self.version >= versions
        )

    def _turn(self) -> None:
        with self.report.waiting():
            deliveries = self.stream.take(PATIENCE)
        self.idle_turns = 0 if deliveries else self.idle_turns + 1
        if not deliveries:
            self.report.starved(self.arrivals)
        for delivery in deliveries:
            self._arrive(delivery)
            if batch := self.arrivals.cut(self.version):
                self._train(batch)
            if self.is_over or self.stop.is_set():
                return  # What was not booked is read again after a restart.
        self.releases.refresh(self.arrivals.consumed(self.version))

    def _arrive(self, delivery: Delivery[Group]) -> None:
        group, collapsed = delivery.record, self.stream.is_collapsed(delivery.message)
        usable = self._is_usable(delivery)
        self.marks.note(delivery.message)
        if self.arrivals.arrive(group, place_of(delivery.message), collapsed=collapsed, usable=usable):
            self.report.arrived(group, collapsed=collapsed)

    def _is_usable(self, delivery: Delivery[Group]) -> bool:
        group, model = delivery.record, self.learner.architecture
        try:
            validate(
                group,
                vocabulary=model.vocabulary,
                positions=model.max_positions,
                drop_hints=self.settings.drops_hints,
            )
        except RecordError as error:
            log.warning("group %s cannot be trained on, see dead-letters: %s", group.group_id, error)
            self.stream.bury(delivery.message, error)
            return False
        return True

    def _train(self, batch: list[Group]) -> None:
        with self.report.stepping():
            step = self.learner.step(batch)
        self.journal.add(self.version, batch)
        trained, self.version = self.version, self.version + 1
        self.step += step.steps_taken if step else 0
        self.health.check(self.version, step)
        if self.version % self.settings.publish_every == 0 and not self.is_over:
            self._release()
        if self.version % self.settings.checkpoint_every == 0:
            self._save()
        self.report.stepped(self.step, step, ages(batch, trained), self.arrivals, self.version)

    def _release(self, *, final: bool = False) -> None:
        fill = self._export if self.version else partial(conversion.copy_files, self.config.policy)
        consumed = self.arrivals.consumed(self.version)
        self.releases.publish(self.version, self.step, consumed, fill, final=final)

    def _export(self, directory: Path) -> None:
        conversion.save(self.config.policy, self.learner.architecture, self.learner.weights(), directory)

    def _save(self) -> None:
        ledger, consumed_ids = self.arrivals.ledger(), self.arrivals.consumed_ids()
        marks = self.marks.kept()
        self.checkpoints.write(self.version, self.step, ledger, marks, consumed_ids, self.learner.save)
        self.saved = self.version

    def _resume(self) -> None:
        """Go on from the newest checkpoint: the weights, the groups that waited, then the stream."""
        found = self.checkpoints.newest()
        if found is None:
            self.stream.start([])
            return
        state = found.state
        self.stream.check(state.ledger.offsets, state.marks)
        self.learner.load(found.shards)
        waiting = [Pending(d.record, place_of(d.message)) for d in self.stream.reread(state.ledger.pending)]
        self.arrivals.restore(state.ledger, found.consumed_ids, waiting)
        self.marks = Marks(state.marks)
        self.version = self.saved = state.version
        self.step = state.step
        self.stream.start(state.ledger.offsets)
        log.info("resumed version %d with %d waiting groups", self.version, len(waiting))


def cut_rule(config: Config) -> CutRule:
    """What the config says a batch is."""
    settings = config.of(TrainerConfig)
    return CutRule(
        batch_groups=config.run.batch_groups,
        max_staleness=config.run.max_staleness,
        max_guided_fraction=settings.max_guided_fraction,
        keep_silent=settings.silent_groups == "keep",
    )

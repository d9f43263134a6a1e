"""The trainer's process: batches in, steps, releases and checkpoints out.

Rank 0 runs the Lead; the other ranks follow its orders. Batches are made ready behind its back, while it
trains (intake/); what it releases and saves is how things stood when the batch it trained last was cut.
"""

import logging
from contextlib import AbstractContextManager
from functools import partial

from mentor_stream import disk
from mentor_stream.config import Config
from mentor_stream.snapshots import StoreError
from trainer import orders, sending, stopping
from trainer.checkpoint import Checkpoints
from trainer.config import TrainerConfig
from trainer.health import Health
from trainer.intake import stream as streams
from trainer.intake.preparation import Batch, Preparation, Standing, is_over
from trainer.intake.stream import TrainerStream
from trainer.journal import Journal
from trainer.learning import reference
from trainer.orders import AllRanks
from trainer.release import place, releases
from trainer.report import Report
from trainer.sending import Keeper

log = logging.getLogger(__name__)

PATIENCE = 0.2
"""Seconds to wait for a batch before looking at the stop flag again."""
IDLE_TURNS = 15
"""Turns without an arrival after which, once told to finish, there is no group left."""


def run(config: Config) -> None:
    """Train until the run is over, or until asked to stop: then SystemExit(128 + signal).

    Raises what cannot be survived.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("megatron").setLevel(logging.WARNING)

    def lead(everyone: AllRanks) -> int | None:
        with streams.connect(config) as stream, sending.beside(config.run, place(config.run)) as keeper:
            return Lead(config, everyone, stream, keeper).run()

    orders.run(config, lead)


class Lead:
    """Rank 0: the only one that talks to the stream."""

    def __init__(
        self, config: Config, learner: AllRanks, stream: TrainerStream, keeper: Keeper | None = None
    ) -> None:
        self.config, self.settings = config.run, config.of(TrainerConfig)
        self.learner, self.stream, self.keeper = learner, stream, keeper
        self.version = self.step = self.saved = 0
        """Batches trained, optimizer steps taken, and the version of the last checkpoint."""
        directory, settings = self.config.directory, self.settings
        model = learner.architecture
        self.preparation = Preparation(config, vocabulary=model.vocabulary, positions=model.max_positions)
        self.standing, self.bookmark = self.preparation.standing, self.preparation.bookmark
        """As they were when the batch trained last was cut; the standing, as it is where none was since."""
        self.releases, self.released = releases(self.config, settings, stream), 0
        """And the version that was released last."""
        self.checkpoints = Checkpoints(
            directory.resolve() / "checkpoints",
            self.config.policy,
            settings.keep_checkpoints,
            reference.directory(settings, self.config.policy),
        )
        self.journal = Journal(directory / "batches.jsonl")
        self.report, self.health = Report(stream), Health(settings)
        self.stop, self.finish = stopping.watch(), stopping.watch_for_finish()
        self.idle_turns = 0

    def run(self) -> int | None:
        """From the newest checkpoint, or from run.policy, to the end of the run; or the reason to stop."""
        self._resume()
        with self._writing():
            self.journal.keep(self.version)
        self.stream.beat(self.report.present, self.preparation)
        self._release(final=self.is_over)
        try:
            while not self.is_over and not self.stop.is_set():
                if self.keeper:
                    self.keeper.check()
                self._turn()
        except StoreError:  # what was learned is not lost with it
            if self.saved != self.version:
                self._save()
            raise
        # A checkpoint of this version is good enough: what arrived after it will be read again.
        if self.saved != self.version:
            self._save()
        if self.is_over and self._conclude():
            log.info("the run is over: its policy, version %d, is in %s", self.version, self.releases.place)
            return None
        log.info("asked to stop: version %d is kept in %s", self.version, self.checkpoints.directory)
        return self.stop.reason

    @property
    def is_over(self) -> bool:
        """Whether the run has its tokens or its batches, or was told to finish and has no group left."""
        if self.finish.is_set() and self.idle_turns >= IDLE_TURNS:
            return True
        return is_over(self.config, self.version, self.standing.consumed.tokens)

    def _turn(self) -> None:
        with self.report.waiting():
            found = self.stream.take(self.preparation, PATIENCE)
        if isinstance(found, Batch):
            self.idle_turns = 0
            self._train(found)
        elif found.version == self.version:  # or a batch is about to come
            self._wait(found)

    def _wait(self, standing: Standing) -> None:
        self.idle_turns = self.idle_turns + 1 if standing.read == self.standing.read else 0
        self.standing = standing
        self.report.starved(standing, self.config.batch_groups)
        self.releases.refresh(standing.consumed)
        if self._is_due():
            self._release()

    def _train(self, batch: Batch) -> None:
        with self.report.stepping():
            step = self.learner.step(batch.shares)
        with self._writing():
            self.journal.add(self.version, batch.groups)
        self.version, self.standing, self.bookmark = self.version + 1, batch.standing, batch.bookmark
        self.step += step.steps_taken if step else 0
        self.health.check(self.version, step)
        if self._is_due() and not self.is_over:
            self._release()
        if self.version % self.settings.checkpoint_every == 0:
            self._save()
        self.report.stepped(self.step, step, batch)

    def _writing(self) -> AbstractContextManager[None]:
        """Around writing the journal. Raises Unwritable."""
        return disk.writing("run.directory", self.config.directory)

    def _is_due(self) -> bool:
        """Whether a version is to be released that was not, perhaps as the store had no time for it."""
        every = self.settings.publish_every
        return self.releases.ready and self.version // every > self.released // every

    def _release(self, *, final: bool = False) -> None:
        if final:
            self.health.conclude(self.version)
        fill = partial(self.learner.write_policy, self.config.policy, self.version)
        with self.report.releasing():
            self.releases.publish(self.version, self.step, self.standing.consumed, fill, final=final)
        self.released = self.version

    def _conclude(self) -> bool:
        """The last word on the run, and its policy; False when asked to stop before the store has that."""
        self.stream.report(self.report.present(self.standing), None)  # what came after the last step
        if not self._is_stored():
            return False
        self._release(final=True)
        return self._is_stored()

    def _is_stored(self) -> bool:
        """Wait until the store has what was released, or until asked to stop: it may stand still for long."""
        while not self.releases.ready:
            if self.stop.wait(PATIENCE):
                return self.releases.ready
        return True

    def _save(self) -> None:
        with self.report.saving():
            self.checkpoints.write(
                self.version, self.step, self.bookmark, self.learner.save, self.health.bad_batches
            )
        self.saved = self.version

    def _resume(self) -> None:
        """Go on from the newest checkpoint: the weights, the groups that waited, then the stream."""
        found = self.checkpoints.newest()
        if found is None:
            if released := self.stream.released():
                log.warning(
                    "run %s has released version %d, and there is no checkpoint in %s: training begins anew, "
                    "with the groups that the stream keeps. Is this the run.directory that it had?",
                    self.config.name,
                    released,
                    self.checkpoints.directory,
                )
            self.stream.start(self.preparation, [])
            return
        state, kept = found.state, found.bookmark
        self.stream.check(kept.ledger.offsets, kept.marks)
        self.learner.load(found.shards)
        waiting = self.stream.reread(kept.ledger.pending)
        self.preparation.resume(state.version, kept, waiting)
        self.standing, self.bookmark = self.preparation.standing, kept
        self.version = self.saved = state.version
        self.step, self.health.bad_batches = state.step, state.bad_batches
        self.stream.start(self.preparation, kept.ledger.offsets)
        log.info("resumed version %d with %d waiting groups", self.version, len(waiting))

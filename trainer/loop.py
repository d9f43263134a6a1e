"""The trainer's process: groups in, steps, releases and checkpoints out.

Rank 0 runs the Lead; the other ranks follow its orders. After every arrival the next batch is cut if it
is full, so the course of a run depends on the order of arrival and on nothing else.
"""

import logging
from functools import partial
from pathlib import Path

import msgspec

from mentor_stream.config import Config, ConfigError
from mentor_stream.stream import Delivery
from schemas import Group, RecordError, decode, encode
from trainer import architecture, checkpoint, hf, ranks, shards, stopping
from trainer import stream as streams
from trainer.batches import Arrivals, CutRule, Pending
from trainer.checkpoint import State
from trainer.config import TrainerConfig
from trainer.journal import Journal
from trainer.learner import Learner, Step
from trainer.places import place_of
from trainer.ranks import Order
from trainer.release import Releases
from trainer.report import Report, ages
from trainer.stream import TrainerStream
from trainer.validation import validate

log = logging.getLogger(__name__)

PATIENCE = 0.2
"""Seconds to wait for a group before looking at the stop flag again."""
IDLE_TURNS = 15
"""Turns without a group after which, once told to finish, there is none left."""


def run(config: Config) -> None:
    """Train until the run is over or the process is asked to stop. Raises what cannot be survived."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("megatron").setLevel(logging.WARNING)
    settings = config.of(TrainerConfig)
    ranks.start(tensor_parallel=settings.tensor_parallel, seed=config.run.seed)
    learner = Learner(settings, config.run.policy, architecture.read(config.run.policy))
    if ranks.is_lead():
        with streams.connect(config) as stream:
            Lead(config, learner, stream).run()
        ranks.command(Order.LEAVE)
    else:
        follow(learner)
    ranks.stop()


def follow(learner: Learner) -> None:
    """On every rank but 0: do what rank 0 does."""
    stopping.ignore()
    while True:
        order, payload = ranks.obey()
        match order:
            case Order.TRAIN:
                learner.step(
                    [decode(data, Group) for data in msgspec.msgpack.decode(payload, type=list[bytes])]
                )
            case Order.EXPORT:
                learner.weights()
            case Order.SAVE:
                shards.save(learner.sharded_state(), Path(payload.decode()))
            case Order.LOAD:
                learner.load(shards.load(learner.sharded_state(loading=True), Path(payload.decode())))
            case Order.LEAVE:
                return


class TrainingFailed(Exception):
    """Going on makes no sense; the text says why and what may help."""


class Lead:
    """Rank 0: the only one that talks to the stream."""

    def __init__(self, config: Config, learner: Learner, stream: TrainerStream) -> None:
        self.config, self.settings = config.run, config.of(TrainerConfig)
        self.learner, self.stream = learner, stream
        self.releases = Releases(self.config.directory / "snapshots", stream, self.settings.keep_snapshots)
        self.arrivals = Arrivals(cut_rule(config))
        self.report = Report(stream)
        self.journal = Journal(self.config.directory / "batches.jsonl")
        self.stop = stopping.watch()
        self.finish = stopping.watch_for_finish()
        self.idle_turns = 0
        self.version = self.step = self.saved = self.bad_steps = 0

    def run(self) -> None:
        """From the newest checkpoint, or from run.policy, to the end of the run."""
        self._resume()
        self.journal.keep(self.version)
        self._release(final=self.is_over)
        while not self.is_over and not self.stop.is_set():
            self._turn()
        # A checkpoint of this version is good enough: what arrived after it will be read again.
        if self.saved != self.version:
            self._save()
        if self.is_over:
            self._release(final=True)

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
        if self.arrivals.arrive(group, place_of(delivery.message), collapsed=collapsed, usable=usable):
            self.report.arrived(group, collapsed=collapsed)

    def _is_usable(self, delivery: Delivery[Group]) -> bool:
        try:
            validate(
                delivery.record,
                vocabulary=self.learner.architecture.vocabulary,
                drop_hints=self.settings.drops_hints,
            )
        except RecordError as error:
            log.warning(
                "group %s cannot be trained on, see dead-letters: %s", delivery.record.group_id, error
            )
            self.stream.bury(delivery.message, error)
            return False
        return True

    def _train(self, batch: list[Group]) -> None:
        with self.report.stepping():
            ranks.command(Order.TRAIN, msgspec.msgpack.encode([encode(group) for group in batch]))
            step = self.learner.step(batch)
        self.journal.add(self.version, batch)
        trained, self.version = self.version, self.version + 1
        self.step += step is not None and step.taken
        self._watch_health(step)
        if self.version % self.settings.publish_every == 0 and not self.is_over:
            self._release()
        if self.version % self.settings.checkpoint_every == 0:
            self._save()
        self.report.stepped(self.step, step, ages(batch, trained), self.arrivals, self.version)

    def _watch_health(self, step: Step | None) -> None:
        """Count steps in a row that could not be taken. Raises TrainingFailed when they are too many."""
        if step is None:
            return
        self.bad_steps = 0 if step.taken else self.bad_steps + 1
        if not step.taken:
            log.warning(
                "batch %d: loss %g, gradient %g: no step taken", self.version, step.loss, step.grad_norm
            )
        if self.bad_steps > self.settings.max_bad_steps:
            raise TrainingFailed(
                f"{self.bad_steps} batches in a row had a loss or a gradient that is not finite "
                f"(trainer.max_bad_steps is {self.settings.max_bad_steps}). Lower trainer.lr, or go back to "
                "an earlier checkpoint."
            )

    def _release(self, *, final: bool = False) -> None:
        fill = self._export if self.version else partial(hf.copy_files, self.config.policy)
        consumed = self.arrivals.consumed(self.version)
        self.releases.publish(self.version, self.step, consumed, fill, final=final)

    def _export(self, directory: Path) -> None:
        ranks.command(Order.EXPORT)
        hf.save(self.config.policy, self.learner.weights(), directory)

    @property
    def _checkpoints(self) -> Path:
        return self.config.directory.resolve() / "checkpoints"

    def _save(self) -> None:
        def save_shards(directory: Path) -> None:
            ranks.command(Order.SAVE, str(directory).encode())
            shards.save(self.learner.sharded_state(), directory)

        state = State(
            version=self.version,
            step=self.step,
            policy=architecture.identity(self.config.policy),
            ledger=self.arrivals.ledger(),
        )
        keep = self.settings.keep_checkpoints
        checkpoint.write(self._checkpoints, state, self.arrivals.consumed_ids(), save_shards, keep=keep)
        self.saved = self.version

    def _check_origin(self, state: State) -> None:
        """Raise ConfigError for a checkpoint of another run: another policy at its start, another stream."""
        if state.policy != architecture.identity(self.config.policy):
            raise ConfigError(
                f"run.policy is {str(self.config.policy)!r}: the checkpoint of version {state.version} in "
                f"{self._checkpoints} started from another policy. Set it back, or set another run.directory"
            )
        self.stream.check(state.ledger.offsets)

    def _resume(self) -> None:
        """Go on from the newest checkpoint: the weights, the groups that waited, then the stream."""
        found = checkpoint.newest(self._checkpoints)
        if found is None:
            self.stream.start([])
            return
        self._check_origin(found.state)
        ranks.command(Order.LOAD, str(found.shards).encode())
        self.learner.load(shards.load(self.learner.sharded_state(loading=True), found.shards))
        ledger = found.state.ledger
        waiting = [Pending(d.record, place_of(d.message)) for d in self.stream.reread(ledger.pending)]
        self.arrivals.restore(ledger, found.consumed_ids, waiting)
        self.version = self.saved = found.state.version
        self.step = found.state.step
        self.stream.start(ledger.offsets)
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

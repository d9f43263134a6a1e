"""The order of things in a run: components, the trainer's end, the last evaluation."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

import anyio

import schemas
from mentor_stream import releases
from mentor_stream.causes import causes
from mentor_stream.config import Config
from mentor_stream.metrics import listening
from mentor_stream.process import PARENT_PIPE
from mentor_stream.stream import opened
from mentor_stream.supervisor.board import Board
from mentor_stream.supervisor.child import Child, GaveUp, State, last_lines
from mentor_stream.supervisor.config import SupervisorConfig
from mentor_stream.supervisor.drain import drained
from mentor_stream.supervisor.threads import thread_settings

FINISH = signal.SIGUSR1
"""Tells the trainer that no more groups will come: train on what is there, write the final checkpoint,
publish the final release, exit 0."""
LOOK_SECONDS = 0.2
AGAIN_SECONDS = 1.0
"""Between two looks whether a run that goes on has a release again."""
SILENT_SECONDS = 30.0
"""Without a word of rollout workers after which it is told what they wait for, again and again."""

CommandLine = Callable[[str, Config], Sequence[str]]
"""The command line that starts a component: feed, rollout, evaluate, mentor or train."""


def component_command(command: str, config: Config) -> list[str]:
    """One component of this installation, alone."""
    return [sys.executable, "-m", "mentor_stream.cli", command, str(config.path)]


@dataclass
class Run:
    """The components of one run and how far it is."""

    config: Config
    board: Board
    feeder: Child
    rollouts: Sequence[Child]
    evaluator: Child
    mentors: Sequence[Child]
    trainer: Child
    release: schemas.PolicyRelease | None = None
    """The newest one known; the final one when the run is over."""
    ended: schemas.PolicyRelease | None = None
    """The final one of a run that goes on, to a later end: it ends nothing."""
    gave_up: list[GaveUp] = field(default_factory=list[GaveUp])

    @property
    def children(self) -> list[Child]:
        """All components in the order of the flow."""
        return [self.feeder, *self.rollouts, *self.mentors, self.trainer, self.evaluator]

    async def to_the_end(self) -> None:
        """Run the components until the final policy is evaluated. Cancelled, stop them all.

        When a component dies too often, the others are stopped and `gave_up` says why.
        """
        try:
            async with anyio.create_task_group() as evaluation:
                evaluation.start_soon(self._evaluate)
                await self._train()
                await self._final_evaluation()
                evaluation.cancel_scope.cancel()
        except* GaveUp as failures:
            self.gave_up = causes(failures)

    async def is_over(self, _code: int = 0) -> bool:
        """Whether the final release is out: after it no exit code of trainer or rollout matters any more."""
        async with opened(self.config, "supervisor") as stream:
            self.release = await releases.newest(stream)
        return self.release is not None and self.release.final and self.release != self.ended

    def kill(self) -> None:
        """End every process at once."""
        for child in self.children:
            child.kill()

    async def _train(self) -> None:
        """Everything but the evaluator, until the trainer has published the final release."""
        if await self.is_over():
            return
        async with anyio.create_task_group() as workers:
            workers.start_soon(self.feeder.keep_alive, _said_so)
            for worker in self.rollouts:
                workers.start_soon(worker.keep_alive, self.is_over)
            for worker in self.mentors:
                workers.start_soon(worker.keep_alive, _said_so)
            workers.start_soon(self._finish_when_drained)
            workers.start_soon(self._tell_of_silence)
            await self.trainer.keep_alive(self.is_over)
            workers.cancel_scope.cancel()

    async def _evaluate(self) -> None:
        """Keep the evaluator. While the release that ended the run is the newest, its work would be over."""
        while self.ended is not None and self.release == self.ended:
            await anyio.sleep(AGAIN_SECONDS)
            await self.is_over()
        await self.evaluator.keep_alive(_said_so)

    async def _tell_of_silence(self) -> None:
        """Say what the first rollout worker waits for until one reports: engines may take minutes."""
        since = self.board.started
        while True:
            await anyio.sleep(SILENT_SECONDS)
            reports = self.board.figures.reports.items()
            if any(of == "rollout" and report.time >= since for (of, _), report in reports):
                return
            said = "".join(last_lines(self.rollouts[0].log, 1)).strip() or "nothing"
            self.board.note(f"nothing is sampled yet; {self.rollouts[0].log.name} says: {said}")

    async def _finish_when_drained(self) -> None:
        """Tell the trainer to finish once nothing more can come, again and again in case it is restarted."""
        settle = self.config.of(SupervisorConfig).settle_seconds
        while self.feeder.state is not State.FINISHED:
            await anyio.sleep(LOOK_SECONDS)
        earlier = self.board.queues
        while True:
            await anyio.sleep(settle + LOOK_SECONDS)
            later = self.board.queues
            mentored = any(mentor.state not in (State.FINISHED, State.FAILED) for mentor in self.mentors)
            at_rest = earlier and later and drained(earlier, later, settle_seconds=settle, mentored=mentored)
            # A process on its way out has no handler any more: the signal would be its death.
            if at_rest and not await self.is_over():
                self.trainer.send(FINISH)
            earlier = later

    async def _final_evaluation(self) -> None:
        assert self.release is not None
        seconds = self.config.of(SupervisorConfig).final_evaluation_seconds
        with anyio.move_on_after(seconds):
            while not self._evaluated(self.release.policy_version):
                await anyio.sleep(LOOK_SECONDS)
            return
        self.board.note(f"the final policy was not evaluated within {seconds:g} s: results come without it")

    def _evaluated(self, version: int) -> bool:
        known = {accuracy.policy_version for accuracy in self.board.figures.accuracies}
        return version in known or self.evaluator.state in (State.FINISHED, State.FAILED)


def new_run(config: Config, board: Board, command_line: CommandLine, held: int) -> Run:
    """The run with none of its components started; they will inherit the descriptor `held`."""
    settings = config.of(SupervisorConfig)
    logs = config.run.directory / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    busy = settings.rollout_workers + 1
    threads = thread_settings(len(os.sched_getaffinity(0)), busy, os.environ)
    environment = {**os.environ, **threads, PARENT_PIPE: "1", "PYTHONUNBUFFERED": "1"}

    places = count()  # feeder, rollout, evaluator, mentor, trainer: as they are made below

    def child(name: str, command: str, *, essential: bool = True) -> Child:
        return Child(
            name=name,
            command=command_line(command, config),
            log=logs / f"{name}.log",
            environment=environment | listening.override(config, next(places)),
            inherited=held,
            config=settings,
            note=board.note,
            essential=essential,
        )

    return Run(
        config=config,
        board=board,
        feeder=child("feeder", "feed"),
        rollouts=[child(name, "rollout") for name in _names("rollout", settings.rollout_workers)],
        # A broken mentor costs lessons, a broken evaluator knowledge; neither may cost training time.
        evaluator=child("evaluator", "evaluate", essential=False),
        mentors=[
            child(name, "mentor", essential=False) for name in _names("mentor", settings.mentor_workers)
        ],
        trainer=child("trainer", "train"),
    )


def _names(component: str, count: int) -> list[str]:
    return [component] if count == 1 else [f"{component}-{i + 1}" for i in range(count)]


async def _said_so(code: int) -> bool:
    """A component's own word that its work is over."""
    return code == 0

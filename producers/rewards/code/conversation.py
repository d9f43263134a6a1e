"""A process in a sandbox that is told lines, and answers each with one."""

import os
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from producers.rewards.code.execution import Job, sealed, started
from producers.rewards.code.sandbox import Sandbox
from producers.rewards.code.watch import Allowance, Run, Watch


class Conversation:
    """The outer side. What a line may take is `test` of the allowance; between lines only `run` goes on."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._heard: bytes | None = None
        watch.line = self._hear

    def ask(self, line: bytes | None) -> bytes | None:
        """Tell a line, or nothing, and wait for the next one that it says; None when there comes no other.

        Raises NotStarted.
        """
        watch = self._watch
        if line is not None:
            watch.told += line + b"\n"
        watch.began, watch.spent = time.monotonic(), watch.run.cpu_seconds
        self._heard = None
        watch.watched()
        return self._heard

    def end(self) -> Run:
        """What became of it. Raises NotStarted."""
        return self._watch.until_the_end()

    def _hear(self, line: bytes) -> bool:
        self._heard = line
        return False


@contextmanager
def conversation(sandbox: Sandbox, job: Job, allowed: Allowance) -> Generator[Conversation]:
    """Start a job that reads lines from its standard input. Ended on the way out. Raises NotStarted."""
    with ExitStack() as stack:
        job_at, filter_at = (
            stack.enter_context(sealed(content)) for content in (job.encoded(), sandbox.filter)
        )
        theirs, ours = os.pipe2(os.O_CLOEXEC)
        stack.callback(os.close, ours)
        os.set_blocking(ours, False)
        try:
            command = sandbox.command(job_at, filter_at)
            process = stack.enter_context(started(command, theirs, (job_at, filter_at)))
        finally:
            os.close(theirs)
        yield Conversation(Watch(process, sandbox.generations, allowed, None, feed=ours))

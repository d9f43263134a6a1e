"""One run: a command is started, fed and watched, and ended with all that it started."""

import os
import subprocess
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from producers.rewards.code.sandbox import ENVIRONMENT, NotStarted, Sandbox
from producers.rewards.code.watch import Allowance, Run, Watch, kill_all


@dataclass(frozen=True, slots=True)
class Job:
    """What the runner is given (runner.py)."""

    preamble: str
    program: str
    function: str = ""
    calls: Sequence[str] = ()
    """A line of JSON each: the arguments."""

    def encoded(self) -> bytes:
        """As the runner reads it."""
        texts = (self.preamble, self.program, self.function, "\n".join(self.calls))
        parts = [text.encode(errors="replace") for text in texts]
        return b"%d %d %d %d\n" % tuple(map(len, parts)) + b"".join(parts)


def execute(
    sandbox: Sandbox,
    job: Job,
    allowed: Allowance,
    given: bytes = b"",
    line: Callable[[bytes], bool] | None = None,
) -> Run:
    """Run a program on `given`. `line` takes each line that it prints, and says whether to go on.

    Raises NotStarted.
    """
    with ExitStack() as stack:
        contents = (given, job.encoded(), sandbox.filter)
        stdin, job_at, filter_at = (stack.enter_context(sealed(content)) for content in contents)
        process = stack.enter_context(started(sandbox.command(job_at, filter_at), stdin, (job_at, filter_at)))
        return Watch(process, sandbox.generations, allowed, line).until_the_end()


@contextmanager
def sealed(content: bytes) -> Generator[int]:
    """A descriptor from which these bytes are read, and that nobody can write to."""
    import fcntl

    file = os.memfd_create("given", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with os.fdopen(os.dup(file), "wb") as out:
            out.write(content)
        os.lseek(file, 0, os.SEEK_SET)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
        yield file
    finally:
        os.close(file)


@contextmanager
def started(command: list[str], stdin: int, kept: tuple[int, ...]) -> Generator[subprocess.Popen[bytes]]:
    """A process, ended with all that is in its sandbox when nobody wants it any more. Raises NotStarted."""
    try:
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=kept,
            env=ENVIRONMENT,
            cwd="/",
            process_group=0,
        )
    except OSError as error:
        raise NotStarted(f"{command[0]}: {error.strerror or error}") from error
    with process:
        try:
            yield process
        finally:
            if process.returncode is None:
                kill_all(process)

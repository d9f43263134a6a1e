"""A sandbox that was seen to start on this machine, or why there is none."""

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from mentor_stream.config import ConfigError
from producers.rewards.code.config import Config
from producers.rewards.code.execution import Job, execute
from producers.rewards.code.sandbox import (
    Bubblewrap,
    Interpreter,
    Limits,
    NotStarted,
    Rlimits,
    Sandbox,
    own_interpreter,
    unused_user,
)
from producers.rewards.code.watch import Allowance

_TRIAL = Allowance(5, 30, 5, 30, 1000)
_WAY_OUT = (
    'or set sandbox = "rlimits", which keeps a program from nothing that your user may read, write or delete'
)
_PREFIXES = "import json, sys; print(json.dumps([sys.prefix, sys.exec_prefix, sys.base_prefix]))"


def ready(config: Config) -> Sandbox:
    """The sandbox that the config asks for. Raises ConfigError when no program can be run in it."""
    reasons: list[str] = []
    for sandbox in _candidates(config):
        try:
            run = execute(sandbox, Job("", "print(6 * 7)"), _TRIAL)
        except NotStarted as error:
            reasons.append(str(error))
            continue
        if run.output == b"42\n":
            return sandbox
        reasons.append(f"{run.end} {run.status} {run.errors.decode(errors='replace')}".strip())
    raise ConfigError(f"sandbox is {config.sandbox!r}: {reasons[-1]}. {_help(config)}.")


def problems(config: Config) -> Iterable[str]:
    """Why programs cannot be run as the config says, and what to do."""
    try:
        ready(config)
    except ConfigError as error:
        yield f"reward.verifier.{error}"


def _candidates(config: Config) -> Iterator[Sandbox]:
    """What to try, the better first: as root, a user of its own holds even where a namespace fails."""
    limits = Limits(config.total_seconds, config.memory_megabytes * 2**20, config.disk_megabytes * 2**20)
    interpreter = own_interpreter() if config.python is None else _interpreter(config.python)
    if config.sandbox == "rlimits":
        yield Rlimits(limits, interpreter)
        return
    if (user := unused_user()) is not None:
        yield Bubblewrap(limits, interpreter, user)
    yield Bubblewrap(limits, interpreter, None)


def _interpreter(python: Path) -> Interpreter:
    """Another Python, with its packages. Raises ConfigError when it does not start."""
    try:
        found = subprocess.run([python, "-P", "-c", _PREFIXES], capture_output=True, check=True, timeout=60)
        homes = {Path(home) for home in json.loads(found.stdout)}
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise ConfigError(
            f"python is {str(python)!r}: {error}. Set it to an interpreter of Python 3.11 or newer."
        ) from error
    return Interpreter((str(python.absolute()), "-P", "-s"), tuple(homes))


def _help(config: Config) -> str:
    if config.sandbox == "rlimits":
        return "It takes prlimit and setpriv, of the package util-linux"
    if shutil.which("bwrap") is None:
        return f"Install bubblewrap (apt-get install bubblewrap, dnf install bubblewrap), {_WAY_OUT}"
    advice = "Allow user namespaces here (in Docker: --security-opt seccomp=unconfined, and a writable /proc)"
    return f"{advice}, {_WAY_OUT}"

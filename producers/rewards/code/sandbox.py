"""What a program runs in, as command lines: bubblewrap or bare limits, with prlimit and a seccomp filter.

Inside bubblewrap there are the system's libraries and the interpreter, read only, an empty /tmp of bounded
size, a /proc of its own, four devices, no network, and no user that owns anything.
"""

import math
import os
import resource
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from producers.rewards.code import syscalls

TEMPORARY = "/tmp"  # noqa: S108  the sandbox's own
RUNNER = Path(__file__).with_name("runner.py")
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": TEMPORARY,
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",  # the same program is judged the same way
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
}
"""All that a program finds in its environment."""
_WITH_PARENT = ("/usr/bin/setpriv", "--pdeathsig", "KILL")
THREADS = 16
OPEN_FILES = 64
STACK_BYTES = 64 * 2**20
USERS = range(61184, 65184)
"""Users of no account, by systemd's convention. One a process of ours: the kernel counts threads by user."""
LIBRARIES = Path("/etc/ld.so.cache")
"""Where the linker finds libraries outside its own folders: libpython of a Python in /usr/local, for one."""


class NotStarted(Exception):
    """The sandbox could not be started, or was killed from outside: says nothing of the program."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use; seconds of a test are watched from outside (watch.py)."""

    cpu_seconds: float
    """Of a whole run: the kernel's limit, should nobody watch."""
    memory_bytes: int
    disk_bytes: int


class Interpreter(NamedTuple):
    """How Python is started, and the folders that it needs."""

    command: tuple[str, ...]
    homes: tuple[Path, ...]


class Sandbox(Protocol):
    """A way to run the runner."""

    filter: bytes
    """The seccomp filter, given on a descriptor."""

    @property
    def generations(self) -> int:
        """How many children down from the process that is started the program is."""
        ...

    def command(self, job: int, filter: int) -> list[str]:  # noqa: A002
        """The command line that runs the runner, with the descriptors of the job and of the filter.

        Raises NotStarted when a tool is missing.
        """
        ...


@dataclass(frozen=True)
class Bubblewrap:
    """Namespaces of its own. `user`: None for a user namespace, else a user to become, which takes root.

    In a user namespace the program is alone: it could change another process of its user. As another user it
    needs one beside it that ends all when bubblewrap is gone: who becomes another is no longer told.
    """

    limits: Limits
    interpreter: Interpreter
    user: int | None

    filter = syscalls.refusing()

    @property
    def generations(self) -> int:
        """See Sandbox.generations."""
        return 1 if self.user is None else 2

    def command(self, job: int, filter: int) -> list[str]:  # noqa: A002
        """See Sandbox.command."""
        inside = [
            *_limited(self.limits),
            *_becoming(self.user),
            *self.interpreter.command,
            "/runner.py",
            str(job),
        ]
        refusing = ["--seccomp", str(filter)] if self.filter else []
        if (bwrap := shutil.which("bwrap")) is None:
            raise NotStarted("bwrap is not installed")
        return [bwrap, *self._isolated(), *self._files(), *refusing, "--", *inside]

    def _isolated(self) -> list[str]:
        alone = ["--die-with-parent", "--new-session"]
        if self.user is None:
            return [
                "--unshare-all",
                "--uid",
                "65534",
                "--gid",
                "65534",
                "--cap-drop",
                "ALL",
                "--as-pid-1",
                *alone,
            ]
        spaces = ("ipc", "pid", "net", "uts", "cgroup-try")
        kept = [
            "--cap-drop",
            "ALL",
            "--cap-add",
            "CAP_SETUID",
            "--cap-add",
            "CAP_SETGID",
        ]  # setpriv drops them
        return [*(f"--unshare-{space}" for space in spaces), *kept, *alone]

    def _files(self) -> list[str]:
        system = [*(Path(place) for place in ("/usr", "/bin", "/lib", "/lib32", "/lib64")), LIBRARIES]
        homes = [home for home in self.interpreter.homes if not home.is_relative_to("/usr")]
        devices = ("null", "zero", "random", "urandom")
        return [
            *_folders([*homes, LIBRARIES, Path("/dev/null")]),
            *(word for place in [*system, *homes] for word in ("--ro-bind-try", str(place), str(place))),
            *("--ro-bind", str(RUNNER), "/runner.py"),
            *("--proc", "/proc", "--remount-ro", "/proc"),  # settings of the kernel, too, are files
            *(word for name in devices for word in ("--dev-bind", f"/dev/{name}", f"/dev/{name}")),
            *(word for n, name in enumerate(("stdin", "stdout", "stderr"))
              for word in ("--symlink", f"/proc/self/fd/{n}", f"/dev/{name}")),
            *("--perms", "1777", "--size", str(self.limits.disk_bytes), "--tmpfs", TEMPORARY),
            *("--remount-ro", "/", "--chdir", TEMPORARY),
        ]  # fmt: skip


@dataclass(frozen=True)
class Rlimits:
    """Limits and refused system calls alone: a program may do to files what the user may that it runs as."""

    limits: Limits
    interpreter: Interpreter

    generations = 0
    filter = syscalls.refusing(alone=True)

    def command(self, job: int, filter: int) -> list[str]:  # noqa: A002
        """See Sandbox.command."""
        given = [str(job), str(filter)] if self.filter else [str(job)]
        return [*_limited(self.limits), *_WITH_PARENT, *self.interpreter.command, str(RUNNER), *given]


def own_interpreter() -> Interpreter:
    """The Python that runs this, without its packages."""
    python = getattr(sys, "_base_executable", None) or sys.executable
    return Interpreter((python, "-P", "-s", "-S"), tuple({Path(sys.base_prefix), Path(sys.base_exec_prefix)}))


def unused_user() -> int | None:
    """A user for the programs of this process, when it may give them one."""
    user = USERS[os.getpid() % len(USERS)]
    maps = (line.split() for line in Path("/proc/self/uid_map").read_text().splitlines())
    mapped = any(int(first) <= user < int(first) + int(count) for first, _, count in maps)
    return user if os.geteuid() == 0 and mapped else None


def _limited(limits: Limits) -> list[str]:
    cpu = math.ceil(limits.cpu_seconds) + 1
    stack = _at_most(resource.RLIMIT_STACK, STACK_BYTES)
    core = _at_most(resource.RLIMIT_CORE, 1)  # at 0 the host's own program for dumps would still be called
    bounds = {
        "as": limits.memory_bytes, "core": core, "cpu": cpu, "fsize": limits.disk_bytes, "nofile": OPEN_FILES,
        "nproc": THREADS, "stack": stack, "msgqueue": 0, "memlock": 0,
    }  # fmt: skip
    return ["/usr/bin/prlimit", *(f"--{name}={bound}" for name, bound in bounds.items())]


def _at_most(limit: int, wanted: int) -> int:
    """What is wanted of a resource, so far as the process may have it."""
    _, hard = resource.getrlimit(limit)
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _becoming(user: int | None) -> list[str]:
    if user is None:
        return []
    return ["/usr/bin/setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--inh-caps=-all"]


def _folders(places: Sequence[Path]) -> list[str]:
    """Folders on the way to these places, open to any user: those that bubblewrap makes are root's alone."""
    above = {folder for place in places for folder in place.parents if folder != Path("/")}
    return [word for folder in sorted(above) for word in ("--perms", "0755", "--dir", str(folder))]

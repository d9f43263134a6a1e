"""Runs inside the sandbox, next to the program: python runner.py JOB [FILTER]. Imports nothing of ours.

JOB is a descriptor with a line of four sizes and as many parts: a preamble, the program, the function to call
or nothing, and for a function a line of JSON with the arguments of each test. READY on the standard output
says that everything up to the program works; what follows is what a program prints, or a line of JSON for
each call, {"value": ...} or {"error": "..."}. FILTER is a descriptor with a seccomp filter, if none is set.
"""

import os
import sys
from types import ModuleType

READY = b"\0ready\n"
_NAME = "program.py"
_MOST_CHARACTERS = 300


def main() -> None:
    """Run the job; the exit status is 1 when its program raised."""
    if len(sys.argv) > 2:
        _refuse(_contents(int(sys.argv[2])))
    preamble, program, function, calls = _parts(_contents(int(sys.argv[1])))
    sys.argv[:] = [_NAME]
    sys.setrecursionlimit(50_000)
    scope = sys.modules["__main__"] = ModuleType("__main__")
    channel = os.dup(1) if function else None
    os.write(1, READY)
    try:
        if channel is None:
            _run(preamble, program, scope)
        else:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            _serve(preamble, program, scope, function, calls, channel)
    except SystemExit:
        pass  # a program may leave when it likes; what it printed counts
    except BaseException as error:
        sys.stderr.write(_said(error) + "\n")
        sys.exit(1)


def _contents(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _parts(job: bytes) -> list[str]:
    sizes, _, rest = job.partition(b"\n")
    found: list[str] = []
    for size in map(int, sizes.split()):
        found.append(rest[:size].decode())
        rest = rest[size:]
    return found


def _run(preamble: str, program: str, scope: ModuleType) -> None:
    exec(preamble, scope.__dict__)  # noqa: S102  what all of this is for
    exec(compile(program, _NAME, "exec"), scope.__dict__)  # noqa: S102


def _serve(preamble: str, program: str, scope: ModuleType, function: str, calls: str, channel: int) -> None:
    """Call the function once for every line of arguments."""
    import json

    def answer(message: str) -> None:
        left = (message + "\n").encode()
        while left:
            left = left[os.write(channel, left) :]

    try:
        _run(preamble, program, scope)
        owner = scope.Solution() if hasattr(scope, "Solution") else scope
        called = getattr(owner, function)
    except BaseException as error:
        answer(json.dumps({"error": _said(error)}))
        return
    for line in calls.splitlines():
        try:
            value = called(*json.loads(line))
            message = json.dumps({"value": value}, default=_plain, separators=(",", ":"))
        except BaseException as error:
            message = json.dumps({"error": _said(error)})
        answer(message)


def _plain(value: object) -> object:
    """Numbers and arrays of numpy are as good as Python's own."""
    if convert := getattr(value, "tolist", None):
        return convert()
    raise TypeError(f"a {type(value).__name__} is no JSON value")


def _said(error: BaseException) -> str:
    """An error in one line, with the program's line that it came from."""
    line, frame = getattr(error, "lineno", None), error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == _NAME:
            line = frame.tb_lineno
        frame = frame.tb_next
    where = f" (line {line})" if line else ""
    try:
        words = " ".join(str(error).split())[:_MOST_CHARACTERS]
    except BaseException:
        words = "?"
    return f"{type(error).__name__}: {words}{where}"


def _refuse(program: bytes) -> None:
    """Set a seccomp filter, of 8 bytes a step, on this process."""
    import ctypes

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))

    libc = ctypes.CDLL(None, use_errno=True)
    steps = Filter(len(program) // 8, program)
    no_new_privileges, set_filter, mode = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(set_filter, mode, ctypes.byref(steps), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    main()

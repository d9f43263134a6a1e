"""Holds a process that must not outlive another: `python -m producers.engines.vllm.leash COMMAND...`.

The standard input is a pipe from the one that holds the leash. When that ends, however it ends, all that runs
in this process group is killed; when the command ends, this ends as it did.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Run the command until it or the holder ends."""
    threading.Thread(target=_hold, daemon=True).start()
    process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, preexec_fn=_die_with_leash)  # noqa: PLW1509
    code = process.wait()
    sys.exit(code if code >= 0 else 128 - code)


def _hold() -> None:
    while os.read(0, 64):
        pass
    os.killpg(0, signal.SIGKILL)


def _die_with_leash() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()

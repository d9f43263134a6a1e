"""A component's process: how it ends, and how it is asked to."""

import os
import signal
import subprocess
import sys

import pytest

BUSY = """
import signal, sys, threading
from mentor_stream.process import serve

async def main():
    print("importing", flush=True)
    {work}
    import anyio
    await anyio.sleep_forever()

serve(main)
"""
BLOCKED = "sum(range(60_000_000))"


def started(work: str, **environment: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY.format(work=work)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "importing\n"
    return process


@pytest.mark.parametrize("work", ["pass", BLOCKED])
@pytest.mark.parametrize("request_to_stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_process_says_so_without_a_word_of_complaint(
    work: str, request_to_stop: signal.Signals
) -> None:
    process = started(work)
    process.send_signal(request_to_stop)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 128 + request_to_stop
    assert complaint == ""


def test_a_process_ends_with_its_supervisor() -> None:
    process = started("pass", MENTOR_STREAM_PARENT_PIPE="1")
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGHUP

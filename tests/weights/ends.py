"""Ends of a shipment that die or stand still half-way: python -m tests.weights.ends WHAT HOW ARGUMENTS...

WHAT is `sender` (a Keeper's program) or `receiver` (of an address and a digest), HOW a signal that it sends
itself. A sender does so in its first shipment only: the file `struck` in its directory remembers.
"""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

from mentor_stream.weights import group
from producers.engines.vllm import receiving
from producers.engines.vllm.receiving import Place, Sender
from tests.weights.shelf import CPU
from trainer.sending import __main__ as sending
from trainer.sending import files

STALL_SECONDS = 3.0


def sender(how: signal.Signals, directory: str, host: str, descriptor: str) -> None:
    """Strikes in the middle of its second bucket."""
    whole, struck = files.Opened.buckets, Path(directory) / "struck"

    def strike(begun: int) -> None:
        while written() < begun + 2**20:
            pass
        os.kill(os.getpid(), how)

    def buckets(self: files.Opened) -> Iterator[memoryview]:
        for number, bucket in enumerate(whole(self)):
            if number == 1 and not struck.exists():
                struck.touch()
                Thread(target=strike, args=(written(),)).start()
            yield bucket

    files.Opened.buckets = buckets
    sending.main(Path(directory), host, int(descriptor))


def written() -> int:
    """Bytes, by this process so far."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))


def receiver(how: signal.Signals, where: str, digest: str) -> None:
    """Strikes once it has a tensor."""
    with receiving.arriving(Sender(where, digest, "gloo"), "0" * 32, Place(), CPU) as arrival:
        for _ in arrival.begin():
            sys.stdout.write("begun\n")
            sys.stdout.flush()
            os.kill(os.getpid(), how)


if __name__ == "__main__":
    group.STALL_SECONDS = STALL_SECONDS
    {"sender": sender, "receiver": receiver}[sys.argv[1]](signal.Signals[sys.argv[2]], *sys.argv[3:])

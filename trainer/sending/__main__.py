"""The sending process: python -m trainer.sending DIRECTORY HOST FD, where FD is a socket that listens."""

import logging
import os
import signal
import socket
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch.distributed as dist

from trainer import launch
from trainer.sending.desk import Desk

START = timedelta(seconds=60)


def main(directory: Path, host: str, listening: int) -> None:
    """Serve until killed: it dies with the trainer, which alone is asked to stop."""
    launch.end_with_starter()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    port = socket.socket(fileno=os.dup(listening)).getsockname()[1]

    def connect(patience: timedelta, *, own: bool = False) -> Any:
        descriptor = listening if own else None
        store = dist.TCPStore(  # pyright: ignore[reportPrivateImportUsage]
            host,
            port,
            is_master=own,
            wait_for_workers=False,
            timeout=START,
            master_listen_fd=descriptor,
        )
        store.set_timeout(patience)
        return store

    _kept = connect(START, own=True)
    Desk(connect, directory).serve()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))

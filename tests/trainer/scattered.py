"""Three ranks of which one is killed while a batch is scattered: python -m tests.trainer.scattered VICTIM.

The parts are larger than what sockets take, so that parts are under way when it dies. Over gloo a rank whose
part breaks off waits for the rest of it for ever, rank 0 being gone or not: whoever started it must end it.
"""

import os
import signal
import sys

from trainer import launch

SIZES = (2**24, 2**24 - 1, 2**24 - 2)


def main(victim: int) -> None:
    from trainer.model import cpu

    cpu.install()
    from trainer import ranks

    launch.end_with_starter()
    ranks.start(seed=0)
    if launch.rank() == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    if ranks.is_lead():
        ranks.scatter([bytes([rank]) * size for rank, size in enumerate(SIZES)])
    else:
        assert ranks.receive_part(SIZES) == bytes([launch.rank()]) * SIZES[launch.rank()]
    ranks.send(b"next") if ranks.is_lead() else ranks.receive()
    ranks.stop()


if __name__ == "__main__":
    if launch.is_rank():
        main(int(sys.argv[1]))
    else:
        command = [sys.executable, "-W", "ignore", "-m", "tests.trainer.scattered", *sys.argv[1:]]
        sys.exit(launch.run(command, len(SIZES), grace=1.0))

"""torchrun as the trainer of several machines needs it: it ends as the ranks do, where torchrun ends with 1.

python -m trainer.torchrun --nnodes=2 --nproc-per-node=8 ... run.toml
"""

import sys
from collections.abc import Sequence

from torch.distributed import run as torchrun
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from trainer import ending, launch


def run(options: Sequence[str], config: str) -> int:
    """Start this machine's ranks, with torchrun's own options; the exit code when all have ended."""
    with ending.expected():
        code = _run([*options, "--module", "trainer", config])
        if code and (found := ending.told()):
            ending.say(found)
            return found.code
    return code


def _run(arguments: list[str]) -> int:
    try:
        torchrun.run(torchrun.parse_args(arguments))
    except SignalException as stopped:
        return 128 + stopped.sigval
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if ending.told() is None:
            how = launch.how(failure.exitcode)
            sys.stderr.write(f"trainer: rank {rank} ended with {how}; so do the others of this machine\n")
        return launch.exit_code([failure.exitcode])
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:-1], sys.argv[-1]))

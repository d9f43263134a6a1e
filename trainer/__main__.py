"""One rank of the trainer, or all of them: what launch.py and torchrun start."""

import sys
from pathlib import Path

from mentor_stream.component import load_config
from trainer import ending
from trainer.component import run

if __name__ == "__main__":
    with ending.as_rank():
        run(load_config(Path(sys.argv[1])))

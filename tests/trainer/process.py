"""`python -m tests.trainer.process CONFIG`: the trainer alone, without the other components' sections."""

import sys
from pathlib import Path

from mentor_stream.config import load
from trainer.component import TrainerConfig, run

if __name__ == "__main__":
    run(load(Path(sys.argv[1]), [TrainerConfig]))

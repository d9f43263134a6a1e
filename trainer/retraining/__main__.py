"""One rank of it: what launch.py starts, with the request as JSON."""

import sys

from mentor_stream import exits
from trainer import ending
from trainer.retraining.tool import one_rank

if __name__ == "__main__":
    with ending.as_rank(exits.of_command):
        one_rank(sys.argv[1])

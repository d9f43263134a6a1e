"""One rank of it: what launch.py starts, with the request as JSON."""

import sys

from trainer.retraining.tool import one_rank

if __name__ == "__main__":
    one_rank(sys.argv[1])

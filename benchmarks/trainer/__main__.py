"""The trainer's steps against a plain loop, and what its log-probs take of memory.

python -m benchmarks.trainer                   # about ten minutes
python -m benchmarks.trainer --quick --json    # a minute: whether it works, no verdict
"""

import argparse
import warnings
from collections.abc import Iterator

from benchmarks.rows import Finding, show
from benchmarks.trainer.load import Load
from trainer.model import cpu

TINY = Load("tiny", hidden=128, layers=3, words=384, groups=16, prompt=12, completion=16)
SMALL = Load("small", hidden=256, layers=6, words=8192, groups=8, prompt=64, completion=256)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="little of everything")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cpu.install()
    from trainer import ranks

    ranks.start(seed=0)
    show(_quick() if options.quick else _full(), as_json=options.json)
    ranks.stop()


def _full() -> Iterator[Finding]:
    from benchmarks.trainer.step import against_plain
    from benchmarks.trainer.vocabulary import vocabulary_memory

    yield from against_plain(TINY, rounds=21)
    yield from against_plain(SMALL, rounds=7)
    yield from vocabulary_memory()


def _quick() -> Iterator[Finding]:
    """Too little to say what is kept."""
    from benchmarks.trainer.step import against_plain
    from benchmarks.trainer.vocabulary import vocabulary_memory

    some = (*against_plain(TINY, rounds=1), *vocabulary_memory(tokens=2048))
    yield from ((found, None) for found, _ in some)


if __name__ == "__main__":
    main()

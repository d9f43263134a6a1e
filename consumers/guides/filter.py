"""Dynamic sampling (DAPO, arXiv 2503.14476): collapsed groups are dropped, other questions take their place.

The dropping is the trainer's `silent_groups = "replace"` and the replacing the feeder's admission control;
for the mentor it means that nothing is taught.
"""

from mentor_stream.config import Section


class Config(Section):
    """There is nothing to set."""


def build(config: Config) -> None:
    """Nothing teaches."""

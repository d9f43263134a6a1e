"""No mentor: plain GRPO. Collapsed groups stay where they are; whether they take a place in a batch is the
trainer's `silent_groups`."""

from mentor_stream.config import Section


class Config(Section):
    """There is nothing to set."""


def build(config: Config) -> None:
    """Nothing teaches."""

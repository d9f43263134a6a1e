"""Right when the completion is the reference, letter by letter."""

import schemas
from mentor_stream.config import Section
from producers.rewards.base import Judgement, Reward, Unscorable


class Config(Section):
    """What does not count as a difference."""

    strip: bool = True
    """Ignore white space around both."""
    casefold: bool = False
    """Ignore upper and lower case."""


def build(config: Config) -> Reward:
    """The verifier."""
    return ExactReward(config)


class ExactReward:
    """Reward 1 for a match, else 0."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def score(self, query: schemas.Query, completion: str) -> Judgement:
        """See Reward.score."""
        expected = self._plain(query.reference)
        if not expected:
            raise Unscorable("the reference is empty")
        right = self._plain(completion) == expected
        return Judgement(right, float(right), "" if right else "is not the reference")

    def _plain(self, text: str) -> str:
        text = text.strip() if self._config.strip else text
        return text.casefold() if self._config.casefold else text

"""Several verifiers as one: the reward is their weighted mean, and a named rule says what is right."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import Field

import schemas
from mentor_stream import plugins
from mentor_stream.config import Section
from producers.rewards.base import REWARDS, Judgement, Reward, clock_seconds_of

SETTING = "reward.verifier.parts"


class Part(Section):
    """One of them."""

    weight: float = Field(1.0, gt=0)
    """How much its reward counts, against the others' weights."""
    verifier: dict[str, Any]
    """As in [reward]: `{kind = "math"}` with its options."""


class Config(Section):
    """Which verifiers, and when they call a completion right together."""

    parts: tuple[Part, ...] = Field(min_length=1)
    """The verifiers, in the order in which they are asked."""
    right: Literal["all", "any", "first", "threshold"] = "all"
    """`all` or `any` of them say right; the `first` does, and the others only shape the reward; or the reward
    reaches the threshold."""
    threshold: float = 1.0
    """Of the reward, for `right = "threshold"`."""


def build(config: Config) -> Reward:
    """The verifier, with all its parts."""
    rewards = [
        plugins.build(REWARDS, part.verifier, f"{SETTING}[{n}]") for n, part in enumerate(config.parts)
    ]
    return WeightedReward(config, rewards)


def check(config: Config) -> Iterable[str]:
    """Problems of the parts."""
    for n, part in enumerate(config.parts):
        yield from plugins.check(REWARDS, part.verifier, f"{SETTING}[{n}]")


def clock_seconds(config: Config) -> float:
    """What the parts ask for together; 0 when none asks for anything."""
    return sum(clock_seconds_of(part.verifier) for part in config.parts)


class WeightedReward:
    """Asks every part. Unscorable for one is unscorable: half a reward would be another reward."""

    def __init__(self, config: Config, rewards: Sequence[Reward]) -> None:
        self._config, self._rewards = config, rewards

    def score(self, query: schemas.Query, completion: str) -> Judgement:
        """See Reward.score."""
        judgements = [reward.score(query, completion) for reward in self._rewards]
        weights = [part.weight for part in self._config.parts]
        weighted = sum(w * judgement.reward for w, judgement in zip(weights, judgements, strict=True))
        reward = weighted / sum(weights)
        kinds = [str(part.verifier.get("kind")) for part in self._config.parts]
        remarks = [f"{kind}: {j.remark}" for kind, j in zip(kinds, judgements, strict=True) if j.remark]
        return Judgement(self._right(judgements, reward), reward, "; ".join(remarks))

    def _right(self, judgements: Sequence[Judgement], reward: float) -> bool:
        rights = [judgement.right for judgement in judgements]
        match self._config.right:
            case "all":
                return all(rights)
            case "any":
                return any(rights)
            case "first":
                return rights[0]
            case "threshold":
                return reward >= self._config.threshold - 1e-9  # weights are floats

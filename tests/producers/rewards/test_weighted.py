from typing import Any

import pytest

from mentor_stream import plugins
from mentor_stream.config import ConfigError
from producers.judging.judge import RewardConfig, running
from producers.rewards.base import REWARDS, Judgement, Reward, Unscorable, clock_seconds_of
from schemas import Verdict
from tests.builders import a_query


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


EXACT = {"weight": 3, "verifier": {"kind": "exact"}}
LOOSE = {"verifier": {"kind": "exact", "casefold": True}}
HOSTILE = {"verifier": {"kind": "tests.hostile:Hostile"}}


def weighted(*parts: dict[str, Any], **options: Any) -> Reward:
    return plugins.build(REWARDS, {"kind": "weighted", "parts": list(parts), **options}, "reward.verifier")


def judge(text: str, *parts: dict[str, Any], **options: Any) -> Judgement:
    return weighted(*parts, **options).score(a_query(reference="Yes"), text)


def test_the_reward_is_the_weighted_mean() -> None:
    rewards = [judge(text, EXACT, LOOSE).reward for text in ("Yes", "yes", "no")]
    assert rewards == [1.0, 0.25, 0.0]


@pytest.mark.parametrize(
    ("options", "right"),
    [
        ({}, False),
        ({"right": "all"}, False),
        ({"right": "any"}, True),
        ({"right": "first"}, False),
        ({"right": "threshold", "threshold": 0.25}, True),
        ({"right": "threshold", "threshold": 0.3}, False),
    ],
    ids=str,
)
def test_a_named_rule_says_what_is_right(options: dict[str, Any], right: bool) -> None:
    assert judge("yes", EXACT, LOOSE, **options).right is right
    assert judge("Yes", EXACT, LOOSE, **options).right is True
    assert judge("no", EXACT, LOOSE, **options).right is False


def test_remarks_say_whose_they_are() -> None:
    assert judge("yes", EXACT, HOSTILE).remark == "exact: is not the reference; tests.hostile:Hostile: yes"


def test_unscorable_for_one_is_unscorable() -> None:
    with pytest.raises(Unscorable):
        weighted(EXACT, HOSTILE).score(a_query(reference="illegible"), "illegible")


@pytest.mark.anyio
async def test_the_judge_takes_it_as_any_other() -> None:
    table = {"kind": "weighted", "parts": [EXACT, HOSTILE]}
    async with running(RewardConfig(verifier=table, workers=1)) as judging:
        scores = await judging.score(a_query(reference="right"), ["right", "other", "fail"])
    assert [score.verdict for score in scores] == [Verdict.RIGHT, Verdict.WRONG, Verdict.UNSCORABLE]


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ([], "parts"),
        ([{"verifier": {"kind": "exakt"}}], r"reward\.verifier\.parts\[0\]\.kind is 'exakt'"),
        ([EXACT, {"verifier": {}}], r"reward\.verifier\.parts\[1\]\.kind is missing"),
        ([{"verifier": {"kind": "exact"}, "weight": 0}], "weight"),
    ],
)
def test_a_part_that_cannot_be_is_named(parts: list[Any], problem: str) -> None:
    table = {"kind": "weighted", "parts": parts}
    (found,) = plugins.check(REWARDS, table, "reward.verifier")
    with pytest.raises(ConfigError, match=problem):
        raise ConfigError(found)
    with pytest.raises(ConfigError, match=problem):
        plugins.build(REWARDS, table, "reward.verifier")


def test_slow_parts_are_given_their_time() -> None:
    code = {"kind": "code", "test_seconds": 1, "total_seconds": 10}
    alone = clock_seconds_of(code)
    assert alone > 30
    assert clock_seconds_of({"kind": "weighted", "parts": [{"verifier": code}, EXACT]}) == alone
    assert clock_seconds_of({"kind": "exact"}) == 0

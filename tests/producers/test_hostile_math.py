"""Answers that are made to break a math verifier are wrong, quickly, and harm no neighbour."""

from collections.abc import AsyncIterator

import pytest

from producers.judging.judge import Judge, RewardConfig, running
from schemas import Verdict
from tests.builders import a_query

pytestmark = pytest.mark.anyio

HOSTILE = [
    r"\boxed{\sqrt{9^{9^{9^{9^{9}}}}}}",
    r"\boxed{10^{10^{10}}!}",
    r"\boxed{9!!!!!!!!}",
    r"\boxed{" + "2^" * 600 + "2}",
    r"\boxed{(x+y+z+1)^{200}-1}",
    r"\boxed{\sum_{k=1}^{10^{12}} \frac{1}{k}}",
    r"\boxed{7^{10^{12}} \bmod 13}",
    r"\boxed{" + r"\frac{1}{" * 400 + "1" + "}" * 400 + "}",
    r"\boxed{" + r"\boxed{" * 2300 + "6" + "}" * 2301,
    r"\boxed{" + r"\pm 1 " * 300 + "}",
    "The answer is 0." + "12" * 900 + "...",
    "The answer is " + "one hundred and " * 120,
    "The answer is " + "9" * 10**8,
]


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
async def math() -> AsyncIterator[Judge]:
    async with running(RewardConfig(workers=1, timeout_seconds=8)) as judge:
        yield judge


@pytest.mark.parametrize("reference", ["5", r"(5, \infty)"])
async def test_hostile_answers_are_wrong_and_need_no_second_worker(math: Judge, reference: str) -> None:
    scores = await math.score(a_query(reference=reference), [*HOSTILE, rf"\boxed{{{reference}}}"])
    assert [score.verdict for score in scores] == [Verdict.WRONG] * len(HOSTILE) + [Verdict.RIGHT]
    assert not [score.remark for score in scores if "allowance" in score.remark]

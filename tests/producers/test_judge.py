from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mentor_stream import exits, workers
from producers.judging.judge import Judge, RewardConfig, running
from producers.judging.worker import REMARK_CHARACTERS
from schemas import Verdict
from tests.builders import a_query

pytestmark = pytest.mark.anyio
R, W, U = Verdict.RIGHT, Verdict.WRONG, Verdict.UNSCORABLE


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
async def hostile() -> AsyncIterator[Judge]:
    config = RewardConfig(
        verifier={"kind": "tests.hostile:Hostile"}, workers=2, timeout_seconds=1, memory_megabytes=512
    )
    async with running(config) as judge:
        yield judge


@pytest.fixture
async def math() -> AsyncIterator[Judge]:
    async with running(RewardConfig(workers=2, timeout_seconds=1)) as judge:
        yield judge


async def verdicts(judge: Judge, completions: list[str], reference: str = "5") -> list[Verdict]:
    return [score.verdict for score in await judge.score(a_query(reference=reference), completions)]


@pytest.mark.parametrize(
    "deed", ["loop", "hold_the_interpreter", "eat_memory", "eat_memory_slowly", "sleep_for_ever"]
)
async def test_a_completion_that_wears_its_judge_out_is_wrong_and_harms_no_neighbour(
    hostile: Judge, deed: str
) -> None:
    assert await verdicts(hostile, ["right", deed, "other"]) == [R, W, W]


@pytest.mark.parametrize(
    ("deed", "remark"),
    [
        ("fail", "ValueError: no such luck"),
        ("exit_politely", "SystemExit"),
        ("die", "SIGKILL"),
        ("leave", "exit status 3"),
        ("give_nan", "nan"),
        ("speak", "expected a Judgement"),
        ("forge", "wrote into its replies"),
    ],
)
async def test_a_judge_that_breaks_leaves_its_completion_unscorable(
    hostile: Judge, deed: str, remark: str
) -> None:
    right, broken = await hostile.score(a_query(), ["right", deed])
    assert (right.verdict, broken.verdict) == (R, U)
    assert remark in broken.remark


@pytest.mark.parametrize(("deed", "verdict"), [("ramble", W), ("rant", U)])
async def test_what_a_verifier_says_at_length_is_cut_before_it_travels_with_its_group(
    hostile: Judge, deed: str, verdict: Verdict
) -> None:
    (score,) = await hostile.score(a_query(), [deed])
    assert score.verdict is verdict
    assert "so so so" in score.remark
    assert score.remark.endswith(" ...")
    assert len(score.remark) == REMARK_CHARACTERS


async def test_a_judge_killed_from_outside_judges_again(
    hostile: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIED_ONCE", str(tmp_path / "died"))
    config = RewardConfig(verifier={"kind": "tests.hostile:Hostile"}, workers=1)
    async with running(config) as judge:
        assert await verdicts(judge, ["die_once", "other"]) == [R, W]


@pytest.mark.parametrize("reference", ["cursed", "illegible"])
async def test_a_reference_that_is_trouble_by_itself_condemns_nobody(hostile: Judge, reference: str) -> None:
    assert await verdicts(hostile, ["right", "other"], reference) == [U, U]
    assert await hostile.unreadable(a_query(reference=reference)) is not None


async def test_a_verifier_that_always_raises_is_in_the_log_once_with_its_cause(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with running(RewardConfig(verifier={"kind": "tests.hostile:Hostile"}, workers=1)) as judge:
        for _ in range(3):
            assert await verdicts(judge, ["fail"] * 4) == [U] * 4
    (warning,) = [record.getMessage() for record in caplog.records if record.name.startswith("producers")]
    assert "no verdict" in warning
    assert "the verifier raised ValueError: no such luck" in warning
    assert capfd.readouterr().err.count("Traceback") == 1


async def test_a_slow_verifier_is_given_its_time_for_each_completion() -> None:
    config = RewardConfig(verifier={"kind": "tests.hostile:Slow"}, workers=2, timeout_seconds=1)
    async with running(config) as judge:
        assert await verdicts(judge, ["3.2", "0", "sleep_for_ever"]) == [R, R, W]


async def test_a_verifier_that_cannot_be_made_is_named_before_anything_is_judged() -> None:
    for kind, text in [
        ("tests.hostile:Unbuildable", "no tools here"),
        ("tests.hostile:Leaving", "exit status 3"),
        ("mth", "known: .*exact, math"),
    ]:
        with pytest.raises(workers.WorkerDied, match=text) as caught:
            async with running(RewardConfig(verifier={"kind": kind})):
                pass
        end = exits.of_component(caught.value)
        assert end
        assert end.code == exits.MISTAKE
        assert end.lines[0].startswith(f"mentor-stream: reward.verifier is {{'kind': '{kind}'}}: ")


async def test_math_answers_are_judged_by_value(math: Judge) -> None:
    completions = [r"so \boxed{\frac{1}{2}}", "The answer is 0.5.", "I think 2", "who knows", ""]
    assert await verdicts(math, completions, "1/2") == [R, R, W, W, W]


async def test_a_reference_that_is_no_answer_is_unscorable(math: Judge) -> None:
    assert await verdicts(math, ["1/2"], r"\frac{1}{") == [U]
    assert await math.unreadable(a_query(reference=r"\frac{1}{")) is not None
    assert await math.unreadable(a_query(reference="1/2")) is None


async def test_hostile_answers_are_wrong(math: Judge) -> None:
    towers = ["9^9^9^9^9", r"\boxed{\sqrt{9^{9^{9^{9^{9}}}}}}", r"\boxed{10^{10^{10}}!}"]
    floods = ["x" * 10**7, r"\boxed{" * 10**5, r"\boxed{" + "(" * 10**6 + "}"]
    assert await verdicts(math, [*towers, *floods, r"\boxed{5}"]) == [W, W, W, W, W, W, R]


async def test_exact_match_ignores_what_it_is_told_to_ignore() -> None:
    async with running(RewardConfig(verifier={"kind": "exact"})) as judge:
        assert await verdicts(judge, [" Yes\n", "yes", "no"], "Yes") == [R, W, W]
        assert await verdicts(judge, ["Yes"], " ") == [U]
    async with running(RewardConfig(verifier={"kind": "exact", "casefold": True, "strip": False})) as judge:
        assert await verdicts(judge, ["YES", " yes"], "Yes") == [R, W]

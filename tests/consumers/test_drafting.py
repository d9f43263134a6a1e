"""Several drafts at once, of which the best is the hint."""

import pytest

from consumers.guides.fdcg import Config
from mentor_stream.config import ConfigError, parse_section
from schemas import Outcome
from tests.consumers.scripted import FALLBACK, ScriptedAgents, a_case, a_guide

pytestmark = pytest.mark.anyio


async def test_the_draft_that_is_ranked_first_is_judged_and_published() -> None:
    agents = ScriptedAgents(drafts=("fair", "poor", "best"), ranking=("best", "fair", "poor"))
    lesson = await a_guide(agents, n_drafts=3).teach(a_case())
    assert (lesson.outcome, lesson.hint) == (Outcome.HINT, "best")
    assert agents.asked == [
        ("attribute",), ("generate",), ("generate",), ("generate",),
        ("rank", "best", "fair", "poor"), ("judge", "best"),
    ]  # fmt: skip
    (ranking,) = [call for call in lesson.calls if call.agent == "ranking"]
    assert (ranking.prompt_tokens, sorted(ranking.result.split(", "))) == (30, ["0", "1", "2"])


async def test_the_draft_ranked_next_is_worked_on_before_new_ones_are_written() -> None:
    agents = ScriptedAgents(drafts=("one", "two", "three"), ranking=("one", "two"), verdicts="VVP")
    lesson = await a_guide(agents, n_drafts=2, max_refine=0).teach(a_case())
    assert lesson.outcome is Outcome.HINT
    judged = [asked[1] for asked in agents.asked if asked[0] == "judge"]
    assert judged == ["one", "two", "three"]
    assert [asked for asked in agents.asked if asked[0] == "generate"][2:] == [("generate", "one", "two")] * 2


async def test_a_draft_that_can_never_be_published_is_not_ranked_and_goes_last() -> None:
    agents = ScriptedAgents(
        drafts=("leaky", "too long", "fair", "good"), ranking=("good", "fair"), verdicts="V"
    )
    case = a_case(leaks=lambda hint: hint == "leaky", fits=lambda hint: hint != "too long")
    lesson = await a_guide(agents, n_drafts=4, max_refine=0, max_retry=3).teach(case)
    assert ("rank", "fair", "good") in agents.asked
    judged = [asked[1] for asked in agents.asked if asked[0] == "judge"]
    assert judged[:2] == ["good", "fair"]
    assert set(judged[2:]) == {"leaky", "too long"}
    assert lesson.hint == FALLBACK


async def test_nothing_is_ranked_where_all_drafts_say_the_same() -> None:
    agents = ScriptedAgents(drafts=("draft",), ranking=("draft",))
    lesson = await a_guide(agents, n_drafts=3).teach(a_case())
    assert lesson.hint == "draft"
    assert not [asked for asked in agents.asked if asked[0] == "rank"]


async def test_a_draft_that_is_not_written_leaves_the_others() -> None:
    agents = ScriptedAgents(drafts=("!", "good", "!"), ranking=("good",))
    assert (await a_guide(agents, n_drafts=3).teach(a_case())).hint == "good"


async def test_when_none_is_written_the_next_try_may_have_some() -> None:
    agents = ScriptedAgents(drafts=("!", "!", "good"))
    lesson = await a_guide(agents, n_drafts=2).teach(a_case())
    assert (lesson.outcome, lesson.hint) == (Outcome.HINT, "good")
    assert [call.draft for call in lesson.calls if call.agent == "generation"] == [0, 0, 1, 1]


async def test_drafts_that_nobody_can_rank_are_taken_as_they_came() -> None:
    agents = ScriptedAgents(drafts=("one", "two"))
    lesson = await a_guide(agents, n_drafts=2).teach(a_case())
    assert lesson.hint in {"one", "two"}
    (ranking,) = [call for call in lesson.calls if call.agent == "ranking"]
    assert (ranking.error, ranking.prompt_tokens) == ("unreadable reply", 9)


@pytest.mark.parametrize("off", ["generation", "judgment"])
def test_several_drafts_need_somebody_to_write_and_somebody_to_rank_them(off: str) -> None:
    with pytest.raises(
        ConfigError, match="n_drafts above 1 needs generation, which writes them, and judgment"
    ):
        parse_section(Config, {"n_drafts": 2, off: False}, "mentor.guide")

"""What the FDCG pipeline makes of a case, with scripted agents."""

import pytest

from consumers.guides.base import Lesson
from schemas import Outcome
from tests.consumers.scripted import FALLBACK, ScriptedAgents, a_case, a_guide

pytestmark = pytest.mark.anyio


def steps(lesson: Lesson) -> list[str]:
    """`agent draft.refinement`, with the verdict of what judges."""
    marks = {True: " passed", False: " refused", None: ""}
    return [f"{c.agent} {c.draft}.{c.refinement}{marks[c.passed]}" for c in lesson.calls]


async def test_a_draft_that_passes_at_once_is_the_hint() -> None:
    lesson = await a_guide(ScriptedAgents()).teach(a_case())
    assert (lesson.outcome, lesson.hint) == (Outcome.HINT, "draft")
    assert steps(lesson) == [
        "attribution 0.0",
        "generation 0.0",
        "judgment 0.0 passed",
        "leak_guard 0.0 passed",
        "budget 0.0 passed",
    ]


async def test_a_criticised_draft_is_repaired_and_judged_again() -> None:
    agents = ScriptedAgents(verdicts="VP")
    lesson = await a_guide(agents).teach(a_case())
    assert (lesson.outcome, lesson.hint) == (Outcome.HINT, "repaired")
    assert ("repair", "draft", "vague: say less") in agents.asked
    assert steps(lesson)[2:5] == ["judgment 0.0 refused", "repair 0.0", "judgment 0.1 passed"]


async def test_a_draft_is_repaired_at_most_max_refine_times_and_then_drawn_afresh() -> None:
    agents = ScriptedAgents(drafts=["one", "two"], verdicts="LLLP", repairs=["one b", "one c"])
    lesson = await a_guide(agents).teach(a_case())
    assert lesson.hint == "two"
    assert ("generate", "one", "one b", "one c") in agents.asked


@pytest.mark.parametrize(("refine", "retry"), [(0, 0), (0, 2), (2, 0), (2, 2), (1, 3)])
async def test_work_on_a_hopeless_case_is_bounded(refine: int, retry: int) -> None:
    agents = ScriptedAgents(verdicts="W")
    lesson = await a_guide(agents, max_refine=refine, max_retry=retry).teach(a_case())
    count = {name: sum(call[0] == name for call in agents.asked) for name in ("generate", "judge", "repair")}
    assert count == {
        "generate": 1 + retry,
        "judge": (1 + retry) * (1 + refine),
        "repair": (1 + retry) * refine,
    }
    assert (lesson.outcome, lesson.hint, lesson.reason) == (Outcome.FALLBACK, FALLBACK, "wrong: say less")


async def test_a_leak_that_judgment_misses_goes_back_to_repair() -> None:
    agents = ScriptedAgents()
    lesson = await a_guide(agents).teach(a_case(leaks=lambda hint: hint == "draft"))
    assert lesson.hint == "repaired"
    assert ("repair", "draft", "leak: 5") in agents.asked


async def test_a_draft_that_keeps_leaking_is_never_the_hint() -> None:
    lesson = await a_guide(ScriptedAgents()).teach(a_case(leaks=lambda hint: hint != FALLBACK))
    assert (lesson.outcome, lesson.hint) == (Outcome.FALLBACK, FALLBACK)


async def test_a_draft_over_the_budget_is_repaired() -> None:
    lesson = await a_guide(ScriptedAgents(repairs=["short"])).teach(a_case(fits=lambda hint: hint == "short"))
    assert (lesson.outcome, lesson.hint) == (Outcome.HINT, "short")
    assert "budget 0.0 refused" in steps(lesson)


async def test_an_error_message_is_no_hint_even_if_judgment_passes_it() -> None:
    agents = ScriptedAgents(
        drafts=["Error: 429 rate limit exceeded, please retry later"], repairs=["repaired"]
    )
    lesson = await a_guide(agents).teach(a_case())
    assert lesson.hint == "repaired"
    assert (
        "repair",
        "Error: 429 rate limit exceeded, please retry later",
        "the draft is an error message, no hint",
    ) in agents.asked
    refusing = ScriptedAgents(
        drafts=["Sorry, I cannot help."], repairs=["I'm sorry, I can't help with that."]
    )
    assert (await a_guide(refusing).teach(a_case())).outcome is Outcome.FALLBACK


async def test_a_fallback_that_leaks_or_does_not_fit_gives_silence() -> None:
    for case in (a_case(leaks=lambda _: True), a_case(fits=lambda _: False)):
        lesson = await a_guide(ScriptedAgents()).teach(case)
        assert (lesson.outcome, lesson.hint) == (Outcome.SILENT, None)


async def test_an_empty_fallback_gives_silence() -> None:
    lesson = await a_guide(ScriptedAgents(verdicts="I"), fallback="").teach(a_case())
    assert (lesson.outcome, lesson.hint, lesson.reason) == (Outcome.SILENT, None, "irrelevant: say less")


async def test_a_fallback_that_did_not_help_is_not_given_again() -> None:
    lesson = await a_guide(ScriptedAgents(verdicts="I")).teach(a_case(earlier=(FALLBACK,)))
    assert lesson.outcome is Outcome.SILENT


async def test_without_attribution_a_draft_is_written_undiagnosed() -> None:
    agents = ScriptedAgents()
    lesson = await a_guide(agents, attribution=False).teach(a_case())
    assert lesson.hint == "draft"
    assert ("attribute",) not in agents.asked


async def test_without_generation_the_keywords_are_the_only_draft() -> None:
    agents = ScriptedAgents(verdicts="W")
    lesson = await a_guide(agents, generation=False).teach(a_case())
    assert ("judge", "carry, units") in agents.asked
    assert not any(call[0] == "generate" for call in agents.asked)
    assert [c.draft for c in lesson.calls if c.agent == "judgment"] == [0, 0, 0]


async def test_without_judgment_nothing_is_judged_or_repaired_but_the_guard_stays() -> None:
    agents = ScriptedAgents(drafts=["leaky", "fine"])
    lesson = await a_guide(agents, judgment=False).teach(a_case(leaks=lambda hint: hint == "leaky"))
    assert lesson.hint == "fine"
    assert {call[0] for call in agents.asked} == {"attribute", "generate"}


async def test_a_failing_attribution_ends_in_the_fallback_with_its_reason_and_cost() -> None:
    agents = ScriptedAgents()
    agents.attribution_fails = True
    lesson = await a_guide(agents).teach(a_case())
    assert (lesson.outcome, lesson.reason) == (Outcome.FALLBACK, "attribution failed: endpoint down")
    assert (lesson.calls[0].error, lesson.calls[0].prompt_tokens) == ("endpoint down", 7)


@pytest.mark.parametrize(
    "agents",
    [
        ScriptedAgents(drafts=["!", "second"]),
        ScriptedAgents(drafts=["first", "second"], verdicts="!P"),
        ScriptedAgents(drafts=["first", "second"], verdicts="LP", repairs=["!"]),
    ],
    ids=["generation", "judgment", "repair"],
)
async def test_an_agent_that_fails_costs_the_draft_and_no_more(agents: ScriptedAgents) -> None:
    lesson = await a_guide(agents).teach(a_case())
    assert (lesson.outcome, lesson.hint) == (Outcome.HINT, "second")


async def test_a_draft_that_nobody_could_judge_is_never_the_hint() -> None:
    lesson = await a_guide(ScriptedAgents(verdicts="!")).teach(a_case())
    assert (lesson.outcome, lesson.reason) == (Outcome.FALLBACK, "judgment failed: unreadable reply")


async def test_an_empty_draft_is_no_hint() -> None:
    lesson = await a_guide(ScriptedAgents(drafts=["  "], repairs=[""])).teach(a_case())
    assert (lesson.outcome, lesson.reason) == (Outcome.FALLBACK, "the hint is empty")


async def test_tokens_and_model_of_every_call_are_kept() -> None:
    lesson = await a_guide(ScriptedAgents(verdicts="VP")).teach(a_case())
    assert sum(c.prompt_tokens for c in lesson.calls) == 100 + 20 + 50 + 20 + 50
    assert {c.model for c in lesson.calls if c.prompt_tokens} == {"m"}

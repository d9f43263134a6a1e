"""What becomes of a collapsed group."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import schemas
from consumers.casework import (
    Action,
    decide,
    diagnosis,
    earlier_hints,
    guidance_round,
    guided_query,
    untaught,
)
from consumers.guides.base import Lesson
from consumers.tally import Tally
from schemas import AgentCall, Origin, Outcome
from tests.builders import a_group, a_guided_query, a_query


@pytest.mark.parametrize(
    ("sampled", "newest", "max_age", "action"),
    [
        (0, 0, 4, Action.TEACH),
        (0, 4, 4, Action.TEACH),
        (0, 5, 4, Action.STALE),
        (3, 4, 0, Action.STALE),
        (4, 4, 0, Action.TEACH),
        (0, 1000, None, Action.TEACH),
        (9, 4, 4, Action.TEACH),
    ],
)
def test_a_case_older_than_max_case_age_is_stale(
    sampled: int, newest: int, max_age: int | None, action: Action
) -> None:
    group = a_group("WW", version=sampled)
    assert decide(group, version=newest, max_case_age=max_age, max_rounds=1) is action


@pytest.mark.parametrize(("max_rounds", "action"), [(1, Action.EXHAUSTED), (2, Action.TEACH)])
def test_a_lesson_that_collapsed_is_taught_again_up_to_max_rounds(max_rounds: int, action: Action) -> None:
    group = a_group("WW", query=a_guided_query())
    assert decide(group, version=0, max_case_age=4, max_rounds=max_rounds) is action


def test_a_guided_query_asks_the_same_question_at_the_same_position() -> None:
    plain = replace(a_query(position=7), solution="2 and 3 are 5", extra={"level": "1"})
    group = a_group("WW", query=plain)
    guided = guided_query(group, "fdcg", "Count.")
    assert (guided.question, guided.reference, guided.solution) == (plain.question, "5", "2 and 3 are 5")
    assert (guided.position, guided.extra, guided.origin) == (7, {"level": "1"}, Origin.GUIDED)
    assert guided.query_id == schemas.guided_query_id(group.group_id, "fdcg", 1)
    assert guided.attempt == 1
    assert guided.hint is not None
    assert (guided.hint.text, guided.hint.round, guided.hint.group_id) == ("Count.", 1, group.group_id)


def test_the_second_round_remembers_the_hints_before() -> None:
    first = guided_query(a_group("WW"), "fdcg", "Count.")
    second = guided_query(a_group("WW", query=first), "fdcg", "Draw it.")
    assert second.hint is not None
    assert (second.hint.round, second.hint.earlier, second.attempt) == (2, ("Count.",), 2)
    assert (guidance_round(second), earlier_hints(second)) == (3, ("Count.", "Draw it."))
    assert second.query_id != first.query_id


@given(st.text(), st.text())
def test_a_case_taught_twice_gives_one_query_id_whatever_the_hints_say(one: str, other: str) -> None:
    group = a_group("WW")
    assert guided_query(group, "g", one).query_id == guided_query(group, "g", other).query_id
    assert guided_query(group, "g", one).query_id != guided_query(group, "h", one).query_id


def test_a_diagnosis_sums_what_the_calls_cost() -> None:
    calls = tuple(
        AgentCall(
            agent="judgment",
            draft=0,
            refinement=n,
            result="",
            prompt_tokens=10,
            completion_tokens=n,
            cost=0.5,
        )
        for n in range(3)
    )
    group = a_group("WW", version=3)
    guided = guided_query(group, "fdcg", "Count.")
    record = diagnosis(group, "fdcg", Lesson(Outcome.HINT, "validated", "Count.", calls), guided, 1.5)
    assert (record.prompt_tokens, record.completion_tokens, record.seconds) == (30, 3, 1.5)
    assert record.cost == 1.5
    assert (record.guided_query_id, record.hint, record.policy_version) == (guided.query_id, guided.hint, 3)
    assert schemas.decode(schemas.encode(record), schemas.Diagnosis) == record


def a_diagnosis(outcome: Outcome, seconds: float) -> schemas.Diagnosis:
    calls = (AgentCall(agent="judgment", draft=0, refinement=0, result="", prompt_tokens=10, cost=0.5),)
    return diagnosis(a_group("WW"), "fdcg", Lesson(outcome, "", None, calls), None, seconds)


@pytest.mark.parametrize("action", [action for action in Action if action is not Action.TEACH])
def test_whatever_ends_without_a_lesson_has_an_outcome_of_its_name_and_a_reason(action: Action) -> None:
    lesson = untaught(a_group("WW"), action, 0)
    assert (lesson.outcome.value, lesson.hint, lesson.calls) == (action.value, None, ())
    assert lesson.reason


def test_a_case_that_no_guide_saw_says_why() -> None:
    assert untaught(a_group("WW", version=1), Action.STALE, 9) == Lesson(
        Outcome.STALE, "sampled by policy 1, the newest is 9"
    )
    exhausted = untaught(a_group("WW", query=a_guided_query()), Action.EXHAUSTED, 0)
    assert (exhausted.outcome, exhausted.reason) == (Outcome.EXHAUSTED, "collapsed again after 1 lesson")


def test_the_mean_time_is_of_the_cases_worked_on_and_absent_without_any() -> None:
    tally = Tally()
    tally.count(a_diagnosis(Outcome.STALE, 0.0))
    assert "seconds_mean" not in tally.values()
    tally.count(a_diagnosis(Outcome.HINT, 2.0))
    tally.count(a_diagnosis(Outcome.SILENT, 4.0))
    with tally.working():
        values = tally.values()
    assert (values["cases"], values["hints"], values["silent"], values["stale"]) == (3, 1, 1, 1)
    assert (values["prompt_tokens"], values["cost"]) == (30, 1.5)
    assert (values["seconds_mean"], values["in_flight"], tally.values()["in_flight"]) == (3.0, 1, 0)

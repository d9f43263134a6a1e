"""What a mentor says of drafts that are refused."""

from consumers.refusals import FEWEST, RECENT, Refusals, refused
from consumers.tally import Tally
from schemas import AgentCall, Diagnosis, Outcome


def a_call(agent: str, result: str, *, passed: bool | None = False) -> AgentCall:
    return AgentCall(agent=agent, draft=0, refinement=0, result=result, passed=passed)


def a_case(outcome: Outcome, *calls: AgentCall) -> Diagnosis:
    return Diagnosis(
        group_id="g", query_id="q", guide="fdcg", round=1, outcome=outcome, reason="", calls=calls,
        policy_version=0,
    )  # fmt: skip


LEAK = a_case(
    Outcome.FALLBACK, a_call("judgment", "leak: it says 12"), a_call("generation", "12", passed=None)
)
HINT = a_case(Outcome.HINT, a_call("judgment", "vague: what?"), a_call("judgment", "pass", passed=True))


def test_refusals_are_counted_by_verdict() -> None:
    calls = [a_call("leak_guard", "holds 12"), a_call("judgment", "wrong: no"), a_call("budget", "too long")]
    assert refused(calls) == {"leak": 1, "wrong": 1, "other": 1}
    tally = Tally()
    tally.count(LEAK)
    assert tally.values()["refused_leak"] == 1


def test_when_most_cases_get_no_hint_the_verdict_is_told() -> None:
    known = Refusals()
    said = [known.hear(LEAK) for _ in range(FEWEST)]
    assert said[:-1] == [""] * (FEWEST - 1)
    assert "5 of the last 5 cases ended without a hint" in said[-1]
    assert "'leak': mentor-stream tail diagnoses CONFIG" in said[-1]


def test_few_refusals_among_hints_and_trouble_of_another_kind_are_not_told() -> None:
    known = Refusals()
    assert not any(known.hear(case) for case in [HINT, HINT, LEAK] * RECENT)
    known = Refusals()
    assert not any(known.hear(a_case(Outcome.SILENT)) for _ in range(RECENT))
    assert not any(known.hear(a_case(Outcome.STALE)) for _ in range(RECENT))

"""When an endpoint rests."""

from hypothesis import given
from hypothesis import strategies as st

from consumers.chat.circuit import FAILURES_IN_A_ROW, Circuit, Health


def resting(circuit: Circuit, now: float = 0.0) -> Circuit:
    for _ in range(FAILURES_IN_A_ROW):
        circuit.fail(now, now)
    return circuit


def test_one_failure_among_answers_is_no_reason_to_rest() -> None:
    circuit = Circuit(1.0, 30.0)
    for now in range(20):
        circuit.fail(now, now)
        circuit.fail(now, now)
        assert circuit.health(now) is Health.AWAKE
        circuit.succeed()


def test_failures_in_a_row_make_it_rest_until_its_trial() -> None:
    circuit = resting(Circuit(1.0, 30.0), now=5.0)
    assert circuit.health(5.9) is Health.RESTING
    assert circuit.health(6.0) is Health.DUE
    assert circuit.begin(6.0)
    assert circuit.health(6.0) is Health.ON_TRIAL
    assert not circuit.begin(6.0), "one request is the trial"
    circuit.succeed()
    assert circuit.health(6.0) is Health.AWAKE


def test_each_trial_that_fails_doubles_the_rest_up_to_the_longest() -> None:
    circuit, rests, now = resting(Circuit(1.0, 30.0)), list[float](), 0.0
    for _ in range(8):
        rests.append(circuit.wakes - now)
        now = circuit.wakes
        circuit.begin(now)
        circuit.fail(now, now)
    assert rests == [1, 2, 4, 8, 16, 30, 30, 30]


def test_a_success_takes_the_growth_back() -> None:
    circuit = resting(Circuit(1.0, 30.0))
    circuit.fail(1.0, 1.0)
    assert circuit.wakes == 3.0
    circuit.succeed()
    assert resting(circuit, now=10.0).wakes == 11.0


def test_many_that_fail_together_count_once() -> None:
    circuit = Circuit(1.0, 30.0)
    for _ in range(512):
        circuit.fail(2.0, 1.0)
    assert circuit.wakes == 3.0
    circuit.fail(50.0, 1.0)  # sent before it rested, noticed after: a time-out
    assert circuit.wakes == 3.0


def test_one_failure_is_enough_where_the_server_says_for_how_long() -> None:
    circuit = Circuit(1.0, 30.0)
    circuit.fail(0.0, 0.0, rest=600.0)
    assert circuit.wakes == 600.0


def test_a_trial_that_was_cancelled_lets_another_try() -> None:
    circuit = resting(Circuit(1.0, 30.0))
    circuit.begin(1.0)
    circuit.abandon()
    assert circuit.health(1.0) is Health.DUE


@given(st.lists(st.tuples(st.sampled_from("bsf"), st.floats(0, 100)), max_size=60))
def test_it_never_rests_longer_than_the_longest_whatever_happens(steps: list[tuple[str, float]]) -> None:
    circuit, now = Circuit(1.0, 30.0), 0.0
    for step, passed in steps:
        now += passed
        if step == "b":
            circuit.begin(now)
        elif step == "s":
            circuit.succeed()
        else:
            circuit.fail(now, now)
        assert circuit.wakes <= now + 30.0
        assert circuit.health(now + 30.0) is not Health.RESTING

"""Accuracy, intervals, pass@k and the paired test, against what they are by definition."""

from itertools import combinations, product
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.evaluation.estimates import Count, accuracy, interval, paired, pass_at

COUNTS = st.lists(
    st.integers(1, 6).flatmap(lambda n: st.builds(Count, st.just(n), st.integers(0, n))),
    min_size=1,
    max_size=8,
)


@given(COUNTS, st.integers(1, 6))
def test_pass_at_k_is_the_share_of_all_choices_of_k_answers_that_hold_a_right_one(
    counts: list[Count], k: int
):
    found = pass_at(k, counts)
    if min(count.judged for count in counts) < k:
        assert found is None
        return
    by_hand = mean(
        mean(any(choice) for choice in combinations([True] * right + [False] * (judged - right), k))
        for judged, right in counts
    )
    assert found == pytest.approx(by_hand)


@given(COUNTS)
def test_pass_at_one_is_the_accuracy(counts: list[Count]):
    assert pass_at(1, counts) == pytest.approx(accuracy(counts))


def test_nothing_is_passed_of_no_questions():
    assert pass_at(1, []) is None


def test_the_interval_is_the_same_each_time_and_holds_the_mean():
    values = [0.0] * 30 + [1.0] * 70
    found = interval(values)
    assert found is not None
    assert found == interval(values)
    # a share of 0.7 among 100 is known to about 1.96 * sqrt(.7 * .3 / 100)
    assert found == pytest.approx((0.61, 0.79), abs=0.015)


def test_ten_times_the_answers_to_the_same_questions_make_nobody_surer():
    few = interval([Count(1, right).accuracy for right in [0, 1] * 20])
    many = interval([Count(10, 10 * right).accuracy for right in [0, 1] * 20])
    assert few == many


@pytest.mark.parametrize("values", [[], [0.5]])
def test_fewer_than_two_questions_give_no_interval(values: list[float]):
    assert interval(values) is None


def test_the_paired_test_is_the_share_of_all_signs_that_make_as_large_a_difference():
    first = [Count(4, right) for right in (4, 3, 3, 2, 4, 1, 3)]
    second = [Count(4, right) for right in (2, 3, 1, 3, 1, 0, 2)]
    differences = [one.accuracy - other.accuracy for one, other in zip(first, second, strict=True)]
    found = paired(named(first), named(second))
    signs = list(product([1, -1], repeat=7))
    extreme = [abs(mean(s * d for s, d in zip(some, differences, strict=True))) for some in signs]
    by_hand = mean(value >= abs(mean(differences)) - 1e-12 for value in extreme)
    assert found.p_value == pytest.approx(by_hand)
    assert found.difference == pytest.approx(mean(differences))
    assert (found.questions, found.better, found.worse) == (7, 5, 1)


def test_two_that_answer_alike_are_not_told_apart():
    counts = named([Count(2, right) for right in (0, 1, 2, 1)])
    found = paired(counts, counts)
    assert (found.difference, found.p_value, found.better, found.worse) == (0, 1, 0, 0)


def test_only_questions_that_both_were_judged_on_are_compared():
    first = {"a": Count(1, 1), "b": Count(1, 0), "c": Count(1, 1)}
    second = {"b": Count(1, 1), "c": Count(1, 1), "d": Count(1, 0)}
    found = paired(first, second)
    assert (found.questions, found.difference, found.worse) == (2, -0.5, 1)


def test_without_a_question_in_common_nothing_is_compared():
    with pytest.raises(ValueError, match="no question in common"):
        paired({"a": Count(1, 1)}, {"b": Count(1, 1)})


def named(counts: list[Count]) -> dict[str, Count]:
    return {str(place): count for place, count in enumerate(counts)}

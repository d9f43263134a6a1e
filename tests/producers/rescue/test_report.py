"""What sampling says of hints, by hand and in general."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.evaluation.estimates import Count
from producers.rescue import report
from producers.rescue.report import Found


def found(question: str, right: int, judged: int, unscorable: int = 0) -> Found:
    return Found(question, Count(judged, right), unscorable)


def founds() -> st.SearchStrategy[Found | None]:
    judged = st.integers(0, 4).flatmap(lambda n: st.builds(Count, st.just(n), st.integers(0, n)))
    return st.none() | st.builds(Found, st.sampled_from("abcdef"), judged, st.integers(0, 2), st.none())


def test_a_way_in_figures_by_hand():
    way = [
        found("a", 2, 4),
        found("b", 0, 2, unscorable=2),
        found("c", 0, 0, unscorable=4),
        Found("d", Count(0, 0), refusal="too long"),
        None,
    ]
    figures = report.figures(way)
    assert {name: figures[name] for name in ("cases", "judged", "rescued", "refused")} == {
        "cases": 4, "judged": 2, "rescued": 1, "refused": 1,
    }  # fmt: skip
    assert (figures["rescue_rate"], figures["accuracy"], figures["unscorable_answers"]) == (0.5, 0.25, 6)
    low, high = figures["rescue_interval"]
    assert 0 <= low <= 0.5 <= high <= 1


def test_a_question_that_failed_often_counts_once():
    often = [found("a", 4, 4) for _ in range(9)]
    figures = report.figures([*often, found("b", 0, 4)])
    assert (figures["cases"], figures["questions"]) == (10, 2)
    assert (figures["rescue_rate"], figures["accuracy"]) == (0.5, 0.5)


def test_two_ways_are_compared_on_what_was_judged_in_both():
    first = [found("a", 4, 4), found("b", 2, 4), found("c", 4, 4), None, found("e", 1, 1)]
    second = [found("a", 0, 4), found("b", 1, 4), found("c", 0, 0, unscorable=4), found("d", 4, 4), None]
    paired = report.paired(first, second)
    assert paired
    assert paired["cases"] == 2
    assert paired["rescue"]["difference"] == pytest.approx(0.5)
    assert paired["accuracy"]["difference"] == pytest.approx((1.0 + 0.25) / 2)
    assert (paired["accuracy"]["better"], paired["accuracy"]["worse"]) == (2, 0)
    assert report.paired([None, found("a", 1, 1)], [found("b", 1, 1), None]) is None


def test_where_nothing_was_judged_there_are_no_rates():
    figures = report.figures([found("a", 0, 0, unscorable=4), None])
    rates = ("rescue_rate", "rescue_interval", "accuracy", "accuracy_interval")
    assert [figures[name] for name in rates] == [None] * 4
    assert report.figures([])["cases"] == 0


@given(st.lists(founds(), max_size=6))
def test_trouble_of_the_judge_changes_no_rate_and_hints_that_say_the_same_do_not_differ(
    way: list[Found | None],
):
    troubled = [one and one._replace(unscorable=one.unscorable + 3) for one in way]
    rates = ("rescue_rate", "rescue_interval", "accuracy", "accuracy_interval", "judged", "rescued")
    before, after = report.figures(way), report.figures(troubled)
    assert [before[name] for name in rates] == [after[name] for name in rates]
    if paired := report.paired(way, troubled):
        assert (paired["rescue"]["difference"], paired["accuracy"]["difference"]) == (0, 0)
        assert paired["accuracy"]["p_value"] in (None, 1.0)

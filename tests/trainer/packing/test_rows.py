import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import schemas
from mentor_stream.config import parse_section
from schemas import Group, VersionRun
from tests.builders import a_group
from trainer.config import TrainerConfig
from trainer.packing.rows import Row, Rows, rows_of


def all_rows(*groups: Group, **settings: object) -> Rows:
    return rows_of(groups, parse_section(TrainerConfig, settings, "trainer"))


def the_rows(*groups: Group, **settings: object) -> list[Row]:
    return all_rows(*groups, **settings).learned


def test_under_a_dropped_hint_the_bare_prompt_is_learned_from() -> None:
    group = msgspec.structs.replace(a_group("WR"), bare_prompt_ids=schemas.ids([9, 10]))
    kept, dropped = (the_rows(group, hint_context=how) for how in ("keep", "drop"))
    assert kept[0].prompt_ids.tolist() == group.trajectories[0].prompt_ids.numpy().tolist()
    assert dropped[0].prompt_ids.tolist() == [9, 10]
    assert dropped[0].completion_ids.tolist() == kept[0].completion_ids.tolist()
    assert (kept[0].as_sampled, dropped[0].as_sampled) == (True, False)


def test_what_has_no_advantage_is_not_run_but_counts_in_the_normalization() -> None:
    silent, telling = a_group("WW"), a_group("WRU")
    rows = the_rows(silent, telling)
    assert [row.advantage > 0 for row in rows] == [False, True]
    judged = [*silent.trajectories, *telling.trajectories[:2]]
    tokens = sum(len(trajectory.completion_ids) for trajectory in judged)
    assert [row.weight for row in rows] == [pytest.approx(1 / tokens)] * 2


@pytest.mark.parametrize("term", ["kl_coef", "entropy_coef"])
def test_with_a_kl_or_an_entropy_term_every_judged_row_is_run(term: str) -> None:
    silent, telling = a_group("WW"), a_group("WRU")
    rows = the_rows(silent, telling, **{term: 0.1})
    assert [row.advantage for row in rows][:2] == [0.0, 0.0]
    assert len(rows) == 4
    assert {row.weight for row in rows} == {row.weight for row in the_rows(silent, telling)}


@pytest.mark.parametrize("marks", ["WW", "U", "UU", "R"])
@pytest.mark.parametrize("normalization", ["token", "sequence", "constant"])
def test_a_batch_that_compares_nothing_has_no_rows(marks: str, normalization: str) -> None:
    assert the_rows(a_group(marks), normalization=normalization, constant_length=4) == []


@pytest.mark.parametrize(("marks", "rows"), [("R", 1), ("WW", 2), ("U", 0), ("WU", 1)])
def test_a_group_that_compares_nothing_is_held_near_the_reference_all_the_same(marks: str, rows: int) -> None:
    assert [row.advantage for row in the_rows(a_group(marks), kl_coef=0.1)] == [0.0] * rows


@pytest.mark.parametrize("normalization", ["token", "sequence", "constant"])
@pytest.mark.parametrize("kl_coef", [0.0, 0.1])
def test_completions_without_tokens_are_no_rows(normalization: str, kl_coef: float) -> None:
    settings = {"normalization": normalization, "constant_length": 4, "kl_coef": kl_coef}
    assert the_rows(of_lengths(0, 0), **settings) == []
    assert [len(row.completion_ids) for row in the_rows(of_lengths(0, 3), **settings)] == [3]


def of_lengths(*lengths: int) -> Group:
    """Judged by turns wrong and right, each under a prompt of 3 tokens."""
    group = a_group("WR" * len(lengths))
    rows = [
        msgspec.structs.replace(
            t,
            prompt_ids=schemas.ids([1, 2, 3]),
            completion_ids=schemas.ids(range(length)),
            logprobs=schemas.floats([-float(i) for i in range(length)]),
            policy=(VersionRun(policy_version=0, count=length),) if length else (),
        )
        for t, length in zip(group.trajectories, lengths, strict=False)
    ]
    return msgspec.structs.replace(group, trajectories=tuple(rows))


LONG = of_lengths(4, 5, 6, 2)
"""The third has 8 positions to compute, the second 7."""


def test_a_row_that_is_too_long_goes_alone_unless_asked_otherwise() -> None:
    found = all_rows(LONG, max_tokens_per_microbatch=7)
    assert ([row.tokens for row in found.learned], found.dropped, found.truncated) == ([6, 7, 8, 4], 0, 0)


def test_a_dropped_row_counts_in_the_normalization_and_in_the_advantages() -> None:
    whole = all_rows(LONG)
    found = all_rows(LONG, max_tokens_per_microbatch=7, long_rows="drop")
    assert ([row.tokens for row in found.learned], found.dropped, found.truncated) == ([6, 7, 4], 1, 0)
    assert [(row.advantage, row.weight) for row in found.learned] == [
        (row.advantage, row.weight) for row in whole.learned if row.tokens < 8
    ]


def test_a_truncated_row_loses_its_end_and_counts_as_long_as_it_is_then() -> None:
    found = all_rows(LONG, max_tokens_per_microbatch=6, long_rows="truncate")
    assert ([row.tokens for row in found.learned], found.dropped, found.truncated) == ([6, 6, 6, 4], 0, 2)
    cut = found.learned[2]
    assert cut.completion_ids.tolist() == [0, 1, 2, 3]
    assert cut.logprobs.tolist() == [0.0, -1.0, -2.0, -3.0]
    assert [row.weight for row in found.learned] == [pytest.approx(1 / 14)] * 4


def test_a_row_whose_prompt_alone_is_too_long_is_dropped_rather_than_truncated() -> None:
    found = all_rows(LONG, max_tokens_per_microbatch=2, long_rows="truncate")
    assert (found.learned, found.dropped, found.truncated) == ([], 4, 0)


@given(st.lists(st.integers(1, 12), min_size=2, max_size=8), st.integers(1, 16))
def test_nothing_is_longer_than_asked_and_what_is_left_out_is_counted(lengths: list[int], most: int) -> None:
    group = of_lengths(*lengths)
    whole = all_rows(group)
    for how in ("drop", "truncate"):
        found = all_rows(group, max_tokens_per_microbatch=most, long_rows=how)
        assert all(row.tokens <= most for row in found.learned)
        assert len(found.learned) + found.dropped == len(whole.learned)
        assert found.truncated == (0 if how == "drop" else sum(n + 2 > most for n in lengths) - found.dropped)

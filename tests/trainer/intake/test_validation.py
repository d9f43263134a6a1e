"""Which groups may be learned from."""

import msgspec
import pytest

import schemas
from tests.builders import a_group, a_guided_query, a_trajectory
from trainer.intake.validation import validate

VOCABULARY, POSITIONS = 16, 20


def checked(group: schemas.Group, *, drop_hints: bool = False) -> None:
    validate(group, vocabulary=VOCABULARY, positions=POSITIONS, drop_hints=drop_hints)


def with_rows(*rows: schemas.Trajectory) -> schemas.Group:
    return msgspec.structs.replace(a_group("W"), trajectories=rows)


def test_an_ordinary_group_passes_plain_and_guided() -> None:
    checked(a_group("WWRR"))
    checked(a_group("WWRR", query=a_guided_query()), drop_hints=True)


def test_a_row_longer_than_the_model_is_refused_with_both_lengths() -> None:
    row = a_trajectory("R", prompt=(1,) * 10, completion=(2,) * 10)
    checked(with_rows(row))
    with pytest.raises(schemas.InvalidRecord, match=r"21 tokens of prompt and completion, .* 20 positions"):
        checked(with_rows(msgspec.structs.replace(row, prompt_ids=schemas.ids((1,) * 11))))


def test_the_empty_rows_of_a_refused_query_are_no_defect() -> None:
    checked(with_rows(*[a_trajectory("A", prompt=(), completion=())] * 4))


def test_a_judged_row_without_a_prompt_is_refused_by_its_place() -> None:
    with pytest.raises(schemas.InvalidRecord, match=r"trajectories\[1\]: an empty prompt"):
        checked(with_rows(a_trajectory("R"), a_trajectory("W", prompt=())))


@pytest.mark.parametrize("token", [-1, VOCABULARY])
def test_a_token_outside_the_vocabulary_is_refused(token: int) -> None:
    with pytest.raises(schemas.InvalidRecord, match="outside the vocabulary of 16"):
        checked(with_rows(a_trajectory("R"), a_trajectory("W", completion=(token,))))


@pytest.mark.parametrize("logprob", [float("nan"), float("-inf"), -1e30, 50.0])
def test_log_probs_that_are_none_are_refused(logprob: float) -> None:
    with pytest.raises(schemas.InvalidRecord, match="no logarithms of probabilities"):
        checked(with_rows(a_trajectory("R"), a_trajectory("W", logprob=logprob)))


@pytest.mark.parametrize("reward", [1.1e6, -1e308])
def test_rewards_that_nothing_can_be_computed_with_are_refused(reward: float) -> None:
    row = msgspec.structs.replace(a_trajectory("R"), reward=reward)
    with pytest.raises(schemas.InvalidRecord, match=r"trajectories\[0\]: reward .* is outside of 1e\+06"):
        checked(with_rows(row, a_trajectory("W")))


def test_dropping_hints_needs_the_bare_prompt() -> None:
    group = msgspec.structs.replace(a_group("WR", query=a_guided_query()), bare_prompt_ids=None)
    checked(group)
    with pytest.raises(schemas.InvalidRecord, match="bare_prompt_ids"):
        checked(group, drop_hints=True)


@pytest.mark.parametrize(
    ("sampling", "words"),
    [
        (schemas.Sampling(temperature=0.0), "sampling.temperature: 0.0"),
        (schemas.Sampling(temperature=float("nan")), "sampling.temperature: nan"),
        (schemas.Sampling(temperature=float("inf")), "sampling.temperature: inf"),
        (schemas.Sampling(temperature=1e-40), "sampling.temperature: 1e-40"),
        (schemas.Sampling(temperature=-1.0), "sampling.temperature: -1.0"),
        (schemas.Sampling(temperature=1.0, top_p=0.9), "top_p 0.9"),
        (schemas.Sampling(temperature=1.0, top_k=5), "top_k 5"),
    ],
)
def test_sampling_that_cannot_be_recomputed_is_refused(sampling: schemas.Sampling, words: str) -> None:
    with pytest.raises(schemas.InvalidRecord, match=words):
        checked(msgspec.structs.replace(a_group("WR"), sampling=sampling))

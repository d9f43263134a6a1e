import logging
import math

import pytest

from mentor_stream.config import parse_section
from trainer.config import TrainerConfig
from trainer.health import Health, TrainingFailed
from trainer.learning import steps
from trainer.learning.steps import Step


def health(**settings: object) -> Health:
    return Health(parse_section(TrainerConfig, settings, "trainer"))


def a_step(*, taken: int = 0, bad: int = 0, **fields: object) -> Step:
    return Step(
        loss=1.0, ratio_mean=1.0, clip_fraction=0.0, grad_norm=1.0, steps_taken=taken, bad_steps=bad, **fields
    )  # pyright: ignore[reportArgumentType]


GOOD, BAD = a_step(taken=1), a_step(bad=1)


def test_too_many_bad_steps_in_a_row_end_training_with_the_way_out() -> None:
    watch = health(max_bad_steps=2)
    watch.check(1, BAD)
    watch.check(2, BAD)
    with pytest.raises(TrainingFailed, match=r"3 batches in a row .* Lower trainer\.lr"):
        watch.check(3, BAD)


def test_a_run_that_ends_with_bad_batches_is_no_trained_one_however_short() -> None:
    watch = health(max_bad_steps=8)
    watch.check(1, BAD)
    watch.check(2, None)
    with pytest.raises(
        TrainingFailed, match=r"over, but version 2 .* the last 1 batches .* Lower trainer\.lr"
    ):
        watch.conclude(2)
    watch.check(3, GOOD)
    watch.conclude(3)


def test_bad_batches_before_a_resume_count() -> None:
    watch = health(max_bad_steps=2)
    watch.bad_batches = 2
    with pytest.raises(TrainingFailed, match="3 batches in a row"):
        watch.check(7, BAD)


def test_a_good_step_between_bad_ones_is_a_new_beginning() -> None:
    watch = health(max_bad_steps=1)
    for version, step in enumerate([BAD, GOOD, BAD, GOOD, BAD], start=1):
        watch.check(version, step)


def test_a_batch_without_signal_or_with_nothing_short_enough_is_neither_good_nor_bad() -> None:
    watch = health(max_bad_steps=1, long_rows="drop")
    watch.check(1, BAD)
    watch.check(2, None)
    watch.check(3, steps.nothing(dropped=2))
    with pytest.raises(TrainingFailed):
        watch.check(4, BAD)


def test_a_batch_of_which_some_steps_were_taken_is_no_bad_one_but_is_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watch = health(max_bad_steps=0)
    watch.check(1, a_step(taken=3, bad=1))
    assert "1 of 4 steps not taken" in caplog.text


def test_a_batch_whose_rows_were_all_dropped_names_the_settings(caplog: pytest.LogCaptureFixture) -> None:
    health(long_rows="drop", max_tokens_per_microbatch=7).check(1, steps.nothing(dropped=4))
    assert "all 4 trajectories" in caplog.text
    assert "trainer.max_tokens_per_microbatch = 7" in caplog.text
    assert "trainer.long_rows is 'drop'" in caplog.text


def test_a_wide_gap_to_the_sampler_is_a_warning_with_likely_causes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    watch = health(max_logprob_gap=0.25)
    watch.check(1, a_step(taken=1, logprob_gap_mean=0.2, logprob_gap_max=3.0))
    assert not caplog.text
    watch.check(2, a_step(taken=1, logprob_gap_mean=0.3, logprob_gap_max=3.0, logprob_gap_alarm=True))
    assert (
        "0.300 from the trainer's on average, 3.000 at most (trainer.max_logprob_gap is 0.25)" in caplog.text
    )
    assert "another temperature" in caplog.text


def test_a_step_whose_numbers_are_none_can_be_told_of(caplog: pytest.LogCaptureFixture) -> None:
    watch = health()
    watch.check(1, Step(math.nan, math.nan, math.nan, math.inf, steps_taken=0, bad_steps=1))
    assert "loss nan, gradient inf: no step taken" in caplog.text

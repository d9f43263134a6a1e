import pytest

from trainer.health import Health, TrainingFailed
from trainer.learner import Step


def a_step(*, taken: bool) -> Step:
    return Step(loss=1.0, ratio_mean=1.0, clip_fraction=0.0, grad_norm=1.0, taken=taken)


def test_too_many_bad_steps_in_a_row_end_training_with_the_way_out() -> None:
    health = Health(allowed=2)
    health.check(1, a_step(taken=False))
    health.check(2, a_step(taken=False))
    with pytest.raises(TrainingFailed, match=r"3 batches in a row .* Lower trainer\.lr"):
        health.check(3, a_step(taken=False))


def test_a_good_step_between_bad_ones_is_a_new_beginning() -> None:
    health = Health(allowed=1)
    for version, taken in enumerate([False, True, False, True, False], start=1):
        health.check(version, a_step(taken=taken))


def test_a_batch_without_signal_is_neither_good_nor_bad() -> None:
    health = Health(allowed=1)
    health.check(1, a_step(taken=False))
    health.check(2, None)
    with pytest.raises(TrainingFailed):
        health.check(3, a_step(taken=False))

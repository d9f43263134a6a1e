import math

import pytest

from mentor_stream.config import parse_section
from trainer.config import TrainerConfig
from trainer.learning import steps
from trainer.learning.measures import Measures
from trainer.learning.steps import Outcome, Step


def an_outcome(tokens: int, *, taken: bool = True, **values: float) -> Outcome:
    measures = Measures(
        loss=values.get("loss", 1.0),
        ratio=values.get("ratio", 1.0) * tokens,
        clipped=values.get("clipped", 0.0) * tokens,
        entropy=values.get("entropy", 2.0) * tokens,
        kl=values.get("kl", 0.0) * tokens,
        gap=values.get("gap", 0.0) * tokens,
        compared=values.get("compared", tokens),
        tokens=tokens,
        positions=2 * tokens,
        ratio_max=values.get("ratio_max", 1.0),
        gap_max=values.get("gap_max", 0.0),
    )
    return Outcome(measures, filled=tokens, grad_norm=values.get("norm", 1.0), taken=taken)


def together(*outcomes: Outcome, **settings: object) -> Step:
    config = parse_section(TrainerConfig, settings, "trainer")
    return steps.together(outcomes, config, dropped=1, truncated=2)


def test_means_are_over_the_tokens_of_all_steps_maxima_over_the_steps() -> None:
    step = together(
        an_outcome(10, loss=1.0, ratio=1.0, clipped=0.0, kl=0.5, entropy=1.0, ratio_max=4.0, norm=1.0),
        an_outcome(30, loss=2.0, ratio=2.0, clipped=0.4, kl=0.1, entropy=2.0, ratio_max=3.0, norm=3.0),
        kl_coef=0.1,
    )
    assert (step.loss, step.grad_norm, step.ratio_max) == (1.5, 2.0, 4.0)
    assert (step.ratio_mean, step.entropy) == (1.75, 1.75)
    assert (step.clip_fraction, step.kl) == (pytest.approx(0.3), pytest.approx(0.2))
    assert (step.steps_taken, step.bad_steps, step.trained_tokens) == (2, 0, 40)
    assert (step.padding_fraction, step.dropped_rows, step.truncated_rows) == (0.5, 1, 2)


def test_steps_not_taken_are_counted_and_in_no_mean() -> None:
    bad = an_outcome(10, taken=False, loss=math.nan, ratio=math.inf, norm=math.nan)
    good = an_outcome(20, loss=3.0)
    step = together(good, bad)
    assert (step.loss, step.ratio_mean, step.grad_norm, step.trained_tokens) == (3.0, 1.0, 1.0, 20)
    assert (step.steps_taken, step.bad_steps, step.taken) == (1, 1, True)


def test_when_no_step_was_taken_the_numbers_are_theirs() -> None:
    step = together(an_outcome(10, taken=False, loss=-math.inf), an_outcome(10, taken=False, loss=math.inf))
    assert math.isnan(step.loss)
    assert (step.steps_taken, step.bad_steps, step.taken, step.trained_tokens) == (0, 2, False, 0)


@pytest.mark.parametrize(
    ("limit", "gap", "alarm"),
    [(0.5, 0.4, False), (0.5, 0.6, True), (0.5, math.inf, True), (0.5, math.nan, True), (0.7, 0.6, False)],
)
def test_the_gap_to_the_sampler_is_that_of_the_first_step(limit: float, gap: float, alarm: bool) -> None:
    first, later = an_outcome(10, gap=gap, gap_max=2 * gap), an_outcome(10, gap=50.0, gap_max=50.0)
    step = together(first, later, max_logprob_gap=limit)
    assert (step.logprob_gap_mean, step.logprob_gap_max) == pytest.approx((gap, 2 * gap), nan_ok=True)
    assert step.logprob_gap_alarm == alarm


def test_where_nothing_can_be_compared_there_is_no_gap_and_without_a_reference_no_kl() -> None:
    step = together(an_outcome(10, compared=0))
    assert (step.logprob_gap_mean, step.logprob_gap_max, step.logprob_gap_alarm) == (None, None, False)
    assert step.kl is None

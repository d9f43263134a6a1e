"""Every metric there is: a file for each component, shared.py for all of them.

A new one is an entry here and a value in what its component reports: what is not declared is not reported.
"""

from functools import cache

from mentor_stream.metrics.catalogue import evaluator, feeder, mentor, rollout, shared, steps, trainer
from mentor_stream.metrics.measure import Labels, Measure

COMPONENTS = ("feeder", "rollout", "mentor", "trainer", "evaluator")
ALL: tuple[Measure, ...] = (
    *shared.MEASURES,
    *feeder.MEASURES,
    *rollout.MEASURES,
    *mentor.MEASURES,
    *trainer.MEASURES,
    *steps.MEASURES,
    *evaluator.MEASURES,
)


def of(component: str) -> tuple[Measure, ...]:
    """What processes of this component measure."""
    return tuple(measure for measure in ALL if measure.is_of(component))


@cache
def fed_by(component: str, key: str) -> tuple[tuple[Measure, Labels], ...]:
    """The series that a value of the component's Metric records feeds."""
    return tuple((measure, measure.keys[key]) for measure in of(component) if key in measure.keys)

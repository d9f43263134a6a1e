"""What the feeder measures."""

from functools import partial

from mentor_stream.metrics.measure import Kind
from mentor_stream.metrics.measure import Measure as _Measure

Measure = partial(_Measure, component="feeder")

MEASURES = (
    Measure(
        name="mentor_stream_feeder_fed_total",
        kind=Kind.COUNTER,
        unit="questions",
        keys={"fed": ()},
        means="questions put on the stream, over the whole run",
        normal="rises with every batch",
        act="Stands still: outstanding has reached capacity, so look at who is slow behind it.",
    ),
    Measure(
        name="mentor_stream_feeder_outstanding_groups",
        unit="groups",
        keys={"outstanding": ()},
        means="questions fed of which the trainer has not yet said what became of them",
        normal="at or just below capacity",
        act="Below capacity for long: the feeder is slow, or at the end of its data.",
    ),
    Measure(
        name="mentor_stream_feeder_capacity_groups",
        unit="groups",
        keys={"capacity": ()},
        means="how many may be outstanding without breaking run.max_staleness",
        normal="run.batch_groups x (1 + run.max_staleness)",
        act="Too small to keep all rollout workers busy? Raise run.max_staleness or run.batch_groups.",
    ),
)

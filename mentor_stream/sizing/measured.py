"""What a run that was, or is, says of its own pace, in its metrics."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import median

import schemas
from mentor_stream import broker as brokers
from mentor_stream import topics
from mentor_stream.broker import EARLIEST

STEPS = 200
"""The last ones: the pace of a run changes as its completions grow."""
LEAST, LARGEST = 1e-6, 1e12
"""Of any number: what is beyond says nothing."""


@dataclass(frozen=True)
class Pace:
    """None where the run says nothing of it."""

    trained_rate: float | None = None
    sampled_rate: float | None = None
    """Of a worker at its best: at other times it may have had nothing to do."""
    completion_tokens: float | None = None
    teaching: float | None = None
    collapsed: float | None = None
    case_seconds: float | None = None


@dataclass
class Measuring:
    """Takes a run's metrics in, in the order of the topic."""

    _steps: deque[schemas.Metric] = field(default_factory=lambda: deque[schemas.Metric](maxlen=STEPS))
    _rollout: dict[str, schemas.Metric] = field(default_factory=dict[str, schemas.Metric])
    _mentors: dict[str, schemas.Metric] = field(default_factory=dict[str, schemas.Metric])
    _best: dict[str, float] = field(default_factory=dict[str, float])
    _versions: set[int] = field(default_factory=set[int])

    def add(self, metric: schemas.Metric) -> None:
        """One more."""
        match metric.component:
            case "trainer":
                if metric.policy_version is not None:
                    self._steps.append(metric)
                    self._versions.add(metric.policy_version)
            case "rollout":
                self._rollout[metric.instance] = metric
                rate = metric.values.get("tokens_per_second", 0.0)
                self._best[metric.instance] = max(rate, self._best.get(metric.instance, 0.0))
            case "mentor":
                self._mentors[metric.instance] = metric
            case _:
                pass

    def pace(self, group_size: int, batch_groups: int) -> Pace:
        """What they come to."""
        total = _totals(self._rollout.values())
        groups, trained = total("groups"), len(self._versions) * batch_groups
        seconds = [m.values["seconds_mean"] for m in self._mentors.values() if "seconds_mean" in m.values]
        step = _totals(self._steps)
        return Pace(
            trained_rate=_share(step("trained_tokens"), step("step_seconds")),
            sampled_rate=_median(self._best.values()),
            completion_tokens=_share(total("tokens"), groups * group_size),
            teaching=_share(min(trained, groups), groups),
            collapsed=max(0.0, min(1.0, total("collapsed") / groups)) if 0 < groups < LARGEST else None,
            case_seconds=_median(seconds),
        )


async def measured(url: str, run: str) -> Measuring:
    """What a run's metrics say up to now; reads them and nothing else. Raises BrokerError."""
    measuring = Measuring()
    async with brokers.connect(url, create=False) as broker:
        start = dict.fromkeys(await broker.bounds(topics.METRICS.of(run)), EARLIEST)
        async with broker.reader(start, follow=False, prefetch=1024, on_gap="earliest") as messages:
            async for message in messages:
                try:
                    measuring.add(schemas.decode(message.value, schemas.Metric))
                except schemas.RecordError:
                    continue  # who follows the topic for good keeps it as a dead letter
    return measuring


def _totals(metrics: Iterable[schemas.Metric]) -> Callable[[str], float]:
    values = [metric.values for metric in metrics]
    return lambda name: sum(one.get(name, 0.0) for one in values)


def _share(part: float, whole: float) -> float | None:
    return _likely(part / whole) if part > 0 and whole > 0 else None


def _median(values: Iterable[float]) -> float | None:
    found = [value for value in values if _likely(value) is not None]
    return median(found) if found else None


def _likely(value: float) -> float | None:
    """A number that a plan can be made with: records come from outside."""
    return value if LEAST < value < LARGEST else None

"""Why no group comes: what stands on the topics, and who has been heard of."""

import time
from dataclasses import dataclass

from mentor_stream import topics
from mentor_stream.broker import TopicPartition
from mentor_stream.stream import Stream

SILENCE = 30.0
"""Seconds after which a worker that reports every second is taken for absent."""
NEWEST = 200
"""Metrics looked at in each partition."""


@dataclass(frozen=True)
class Situation:
    """Questions and cases that nobody has finished, and how long ago workers were heard of."""

    fed: int
    """Plain questions that were ever put on the stream."""
    plain: int
    """Plain questions that no rollout worker is done with."""
    guided: int
    cases: int
    """Collapsed groups that no mentor is done with."""
    rollout: float | None
    """Seconds since a rollout worker's last report; None when none is to be found."""
    mentor: float | None

    @property
    def reason(self) -> str:
        """The likeliest one, in words. Never a mentor alone: training does not wait for it."""
        if not self.fed:
            return "no question was put on the stream yet: the feeder does not run, or reads its data still"
        waiting = self.plain + self.guided
        if _absent(self.rollout):
            seen = "none was heard of" if self.rollout is None else f"the last one {self.rollout:.0f} s ago"
            return f"no rollout worker is at work ({seen}): {waiting} questions wait for one"
        if waiting:
            return (
                f"rollout workers are at it: {self.plain} plain and {self.guided} guided questions are asked"
            )
        hints = f"; {self.cases} collapsed groups wait for hints" if self.cases else ""
        nobody = " (no mentor is at work)" if self.cases and _absent(self.mentor) else ""
        return (
            "every question is answered, and the feeder puts out no more: it is at its limit "
            f"(run.max_staleness, run.batch_groups), at the end of the data, or not running{hints}{nobody}"
        )


async def situation(stream: Stream) -> Situation:
    """As the stream has it now."""
    heard = await _heard_of(stream)
    questions = await stream.bounds(topics.QUERIES)
    return Situation(
        fed=sum(bound.next for bound in questions.values()),
        plain=await stream.lag(topics.QUERIES),
        guided=await stream.lag(topics.GUIDED),
        cases=await stream.lag(topics.COLLAPSED),
        rollout=heard.get("rollout"),
        mentor=heard.get("mentor"),
    )


async def _heard_of(stream: Stream) -> dict[str, float]:
    """Seconds since each component's last metric was appended; clocks that differ by SILENCE mislead."""
    start: dict[TopicPartition, int] = await stream.tail(topics.METRICS, NEWEST)
    last: dict[str, float] = {}
    async with stream.reader(topics.METRICS, start=start, follow=False, on_gap="earliest") as metrics:
        async for metric in metrics:
            component, at = metric.record.component, metric.message.timestamp
            last[component] = max(at, last.get(component, at))
    now = time.time()
    return {component: max(0.0, now - at) for component, at in last.items()}


def _absent(seconds: float | None) -> bool:
    return seconds is None or seconds > SILENCE

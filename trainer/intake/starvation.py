"""Why no batch fills: what came and teaches nothing; or what stands on the topics, and who was heard of."""

import time
from dataclasses import dataclass

from mentor_stream import topics
from mentor_stream.broker import TopicPartition
from mentor_stream.metrics.signal import missing
from mentor_stream.stream import Stream
from trainer.intake.preparation import Standing

SILENCE = 30.0
"""Seconds after which a worker that reports every second is taken for absent."""
NEWEST = 200
"""Metrics looked at in each partition."""


@dataclass(frozen=True)
class Came:
    """Groups that arrived within some time."""

    plain: int
    collapsed: int
    """Plain ones without a right answer."""
    guided: int
    rescued: int
    """Guided ones with a right answer."""
    useful: int
    """Those that wait for a batch now."""

    @property
    def groups(self) -> int:
        """All of them."""
        return self.plain + self.guided

    @property
    def words(self) -> str:
        """What came, and what to do so that more of it can be learned from."""
        why = missing(
            self.collapsed / self.plain if self.plain else None,
            self.rescued / self.guided if self.guided else None,
        )
        return (
            f"{self.plain} plain groups came, {self.collapsed} of them without a right answer, and "
            f"{self.guided} lessons, {self.rescued} of them with one. {why or self._enough}"
        )

    @property
    def _enough(self) -> str:
        """Of groups with right answers."""
        if 2 * self.useful < self.groups:
            return "In most of them all answers are right, which teaches nothing: harder questions help"
        return "Sampling is slower than training: more rollout workers help"


def arrived(before: Standing, now: Standing) -> Came:
    """What came between two moments."""
    then, consumed = before.consumed, now.consumed
    return Came(
        plain=consumed.resolved - then.resolved,
        collapsed=consumed.collapsed - then.collapsed,
        guided=consumed.guided - then.guided,
        rescued=consumed.rescued - then.rescued,
        useful=max(0, now.waiting - before.waiting),
    )


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

"""Topics as they are on the broker: what they hold, how they are kept, and how to make them as configured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mentor_stream import topics
from mentor_stream.broker import Bounds, Broker, TopicState
from mentor_stream.commands.topics.plan import Change
from mentor_stream.config import Config
from mentor_stream.topics import TopicsConfig


@dataclass(frozen=True, slots=True)
class Holding:
    """One topic of the broker."""

    name: str
    run: str
    state: TopicState
    bounds: Mapping[int, Bounds]
    """Per partition."""
    lag: Mapping[str, int]
    """Records that a component group of the run has yet to deal with."""

    @property
    def records(self) -> int:
        """How many it keeps."""
        return sum(bounds.next - bounds.first for bounds in self.bounds.values())


async def holding(broker: Broker, name: str) -> Holding:
    """What is known of a run's topic. Raises UnknownTopic."""
    found = topics.parse(name)
    assert found, f"{name} is of no run"
    run, topic = found
    bounds = {place.partition: b for place, b in (await broker.bounds(name)).items()}
    lag = {topic.group: await broker.lag(name, topic.group_of(run))} if topic.group else {}
    return Holding(name, run, await broker.describe(name), bounds, lag)


async def holdings(broker: Broker, run: str | None = None) -> list[Holding]:
    """The topics of `run`, or of every run; run by run, in the order of the flow."""
    existing = await broker.topics()
    runs = {found[0] for name in existing if (found := topics.parse(name))}
    names = [topic.of(one) for one in sorted(runs) if run in (None, one) for topic in topics.ALL]
    return [await holding(broker, name) for name in names if name in existing]


async def compare(broker: Broker, config: Config) -> list[Change]:
    """Every topic of the config's run beside what the config wants of it."""
    run, settings = config.run.name, config.of(TopicsConfig)
    existing = await broker.topics()
    changes: list[Change] = []
    for topic in topics.ALL:
        wanted = settings.spec(topic, run)
        actual = (await broker.describe(wanted.name)).spec if wanted.name in existing else None
        changes.append(Change(topic, wanted, actual))
    return changes


async def create(broker: Broker, changes: Sequence[Change]) -> None:
    """Create the topics that do not exist."""
    await broker.create_topics([change.wanted for change in changes if change.action == "create"])


async def alter(broker: Broker, changes: Sequence[Change]) -> None:
    """Change what differs from the config and can be changed."""
    for change in changes:
        if change.action == "alter":
            await broker.alter_topic(change.wanted)

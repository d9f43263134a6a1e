"""A run's cases with what its guide made of them, and how questions with its hints were answered."""

from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from consumers import following
from consumers.effort import Effort, effort
from mentor_stream import topics
from mentor_stream.broker import Broker
from mentor_stream.topics import Topic
from schemas import Diagnosis, Group, Hint, Origin, Outcome, Query, Record, Verdict

READ = (topics.DIAGNOSES, topics.GUIDED, topics.COLLAPSED, topics.GROUPS)


@dataclass(frozen=True, slots=True)
class Case:
    """What became of one collapsed group. What agents said is left out: a comparison is of hints."""

    group_id: str
    query_id: str
    round: int
    guide: str
    outcome: Outcome
    reason: str
    hint: Hint | None
    guided_query_id: str | None
    effort: Effort
    tokens: int
    cost: float
    seconds: float
    policy_version: int
    """Of the policy that failed."""


@dataclass(frozen=True, slots=True)
class Score:
    """How a question was answered with a hint before it."""

    right: int
    judged: int


@dataclass
class Recorded:
    """One run's part in a comparison."""

    name: str
    cases: dict[str, Case] = field(default_factory=dict[str, Case])
    """By the collapsed group."""
    questions: dict[str, str] = field(default_factory=dict[str, str])
    """By the same."""
    scores: dict[str, Score] = field(default_factory=dict[str, Score])
    """By the guided query. A replay has none: nobody has asked."""
    lessons: set[str] = field(default_factory=set[str])
    """Collapsed groups of which there is a hint."""
    unreadable: int = 0

    @property
    def undiagnosed(self) -> int:
        """Hints without a diagnosis, which are no cases: their mentor died between the two."""
        return len(self.lessons - self.cases.keys())

    def take(self, record: Record | None) -> None:
        """One record more; None is one that cannot be read. Repeats change nothing."""
        match record:
            case None:
                self.unreadable += 1
            case Diagnosis() as diagnosis:
                self.cases[diagnosis.group_id] = _case(diagnosis)
            case Query(hint=hint) as query if hint:
                self.questions[hint.group_id] = query.question
                self.lessons.add(hint.group_id)
            case Group() as group:
                self._take_group(group)
            case _:
                pass

    def _take_group(self, group: Group) -> None:
        verdicts = [t.verdict for t in group.trajectories]
        right, wrong = verdicts.count(Verdict.RIGHT), verdicts.count(Verdict.WRONG)
        if group.query.hint:
            self.scores[group.query.query_id] = Score(right, right + wrong)
        if not right:
            self.questions[group.group_id] = group.query.question


async def recorded(broker: Broker, run: str, origin: str) -> Recorded:
    """What a run has recorded up to now; nothing of it is touched. Raises UnknownTopic.

    What a replay's guide said nothing to stands on the run that it replayed, its `origin`.
    """
    found = Recorded(run)
    for topic in READ:
        async for record in _all(broker, run, topic):
            found.take(record)
    if found.cases.keys() - found.questions.keys() and origin != run:
        async for record in _all(broker, origin, topics.COLLAPSED):
            if isinstance(record, Group) and record.group_id in found.cases:
                found.questions.setdefault(record.group_id, record.query.question)
    return found


async def questions(broker: Broker, run: str, origin: str, wanted: Collection[str]) -> dict[str, Query]:
    """What was asked in these collapsed groups, whole, without a hint; by group. Raises UnknownTopic.

    A pass of its own: with tests and all, questions may be large, and few comparisons want them.
    """
    found: dict[str, Query] = {}
    places = [(run, topics.GUIDED), (run, topics.COLLAPSED), (origin, topics.COLLAPSED)]
    for name, topic in dict.fromkeys(places):
        if found.keys() >= set(wanted):
            break
        async for record in _all(broker, name, topic):
            match record:
                case Query(hint=hint) as query if hint and hint.group_id in wanted:
                    found[hint.group_id] = _bare(query)
                case Group(group_id=group_id, query=query) if group_id in wanted:
                    found[group_id] = _bare(query)
                case _:
                    pass
    return found


async def _all(broker: Broker, run: str, topic: Topic[Any]) -> AsyncGenerator[Record | None]:
    """Every record of a topic; None is one that cannot be read."""
    start = await following.since(broker, run, (topic,), 0.0)
    async for event in following.events(broker, run, (topic,), start, follow=False):
        yield event.record


def _bare(query: Query) -> Query:
    return replace(query, origin=Origin.PLAIN, hint=None)


def _case(diagnosis: Diagnosis) -> Case:
    return Case(
        group_id=diagnosis.group_id,
        query_id=diagnosis.query_id,
        round=diagnosis.round,
        guide=diagnosis.guide,
        outcome=diagnosis.outcome,
        reason=diagnosis.reason,
        hint=diagnosis.hint,
        guided_query_id=diagnosis.guided_query_id,
        effort=effort(diagnosis.calls),
        tokens=diagnosis.prompt_tokens + diagnosis.completion_tokens,
        cost=diagnosis.cost,
        seconds=diagnosis.seconds,
        policy_version=diagnosis.policy_version,
    )

"""A run's cases with what its guide made of them, and how questions with its hints were answered."""

from dataclasses import dataclass, field

from consumers import following
from consumers.effort import Effort, effort
from mentor_stream import topics
from mentor_stream.broker import Broker
from schemas import Diagnosis, Group, Outcome, Query, Record, Verdict

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
    hint: str | None
    guided_query_id: str | None
    effort: Effort
    tokens: int
    cost: float
    seconds: float


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
    unreadable: int = 0

    def take(self, record: Record | None) -> None:
        """One record more; None is one that cannot be read. Repeats change nothing."""
        match record:
            case None:
                self.unreadable += 1
            case Diagnosis() as diagnosis:
                self.cases[diagnosis.group_id] = _case(diagnosis)
            case Query(hint=hint) as query if hint:
                self.questions[hint.group_id] = query.question
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


async def recorded(broker: Broker, run: str) -> Recorded:
    """What a run has recorded up to now; nothing of it is touched. Raises UnknownTopic."""
    found = Recorded(run)
    for topic in READ:
        start = await following.since(broker, run, (topic,), 0.0)
        async for event in following.events(broker, run, (topic,), start, follow=False):
            found.take(event.record)
    return found


def _case(diagnosis: Diagnosis) -> Case:
    return Case(
        group_id=diagnosis.group_id,
        query_id=diagnosis.query_id,
        round=diagnosis.round,
        guide=diagnosis.guide,
        outcome=diagnosis.outcome,
        reason=diagnosis.reason,
        hint=diagnosis.hint.text if diagnosis.hint else None,
        guided_query_id=diagnosis.guided_query_id,
        effort=effort(diagnosis.calls),
        tokens=diagnosis.prompt_tokens + diagnosis.completion_tokens,
        cost=diagnosis.cost,
        seconds=diagnosis.seconds,
    )

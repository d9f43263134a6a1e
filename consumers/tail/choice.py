"""Which events are wanted. No I/O."""

from dataclasses import dataclass

from schemas import Diagnosis, Group, Query, Record


@dataclass(frozen=True, slots=True)
class Choice:
    """All that is set must hold. A record to which something does not apply is not wanted then."""

    question: str | None = None
    """A part of the question, or an id."""
    outcome: str | None = None
    """How a case ended."""
    guide: str | None = None
    verdict: str | None = None
    """At least one answer of the group has it."""

    def wants(self, record: Record) -> bool:
        """Whether the record is one of those."""
        return (
            (self.question is None or _is_about(record, self.question))
            and (self.outcome is None or _outcome(record) == self.outcome)
            and (self.guide is None or _guide(record) == self.guide)
            and (self.verdict is None or self.verdict in _verdicts(record))
        )


def query_of(record: Record | None) -> Query | None:
    """The query that a record is or holds."""
    if isinstance(record, Group):
        return record.query
    return record if isinstance(record, Query) else None


def _is_about(record: Record, text: str) -> bool:
    ids = [getattr(record, name, None) for name in ("query_id", "group_id", "guided_query_id")]
    query = query_of(record)
    if query is not None:
        ids += [query.query_id, query.hint.group_id if query.hint else None]
    in_question = query is not None and text.casefold() in query.question.casefold()
    return in_question or text in ids


def _outcome(record: Record) -> str | None:
    return record.outcome.value if isinstance(record, Diagnosis) else None


def _guide(record: Record) -> str | None:
    if isinstance(record, Diagnosis):
        return record.guide
    query = query_of(record)
    return query.hint.guide if query and query.hint else None


def _verdicts(record: Record) -> set[str]:
    return {t.verdict.value for t in record.trajectories} if isinstance(record, Group) else set()

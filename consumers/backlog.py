"""Cases that wait for their turn while questions fail faster than the mentor works. No I/O."""

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from consumers.casework import Action
from schemas import Group


class _Case(Protocol):
    @property
    def record(self) -> Group: ...

    @property
    def size(self) -> int:
        """Bytes on the stream."""
        ...


C = TypeVar("C", bound=_Case)
Age = tuple[int, float, int]
"""The younger, the greater: the policy's version before the time, since workers' clocks differ; then who
came later."""


class _Place(NamedTuple, Generic[C]):
    age: Age
    case: C


class Passed(NamedTuple, Generic[C]):
    """A case whose turn never comes. No action: it is the one that waits, delivered again."""

    case: C
    action: Action | None


class Line(Generic[C]):
    """All cases in the order in which they come: how many there are at once is for whoever adds them."""

    def __init__(self) -> None:
        self._line: deque[C] = deque()

    def __len__(self) -> int:
        return len(self._line)

    def add(self, case: C) -> list[Passed[C]]:
        """Let a case wait; nobody leaves for it."""
        self._line.append(case)
        return []

    def take(self) -> C | None:
        """The case that has waited longest, or None when none waits."""
        return self._line.popleft() if self._line else None


@dataclass
class Backlog(Generic[C]):
    """At most so many cases and bytes; the newest goes first, and where there is no room the oldest goes.

    A lesson is for the policy that failed: if not all cases can be taught, then those that are fresh. Of one
    question the newest case stays, whichever comes first.
    """

    most: int
    most_bytes: int
    _line: list[_Place[C]] = field(default_factory=list[_Place[C]], init=False)
    """The oldest first."""
    _of_question: dict[tuple[str, str], _Place[C]] = field(
        default_factory=dict[tuple[str, str], _Place[C]], init=False
    )
    _bytes: int = field(default=0, init=False)
    _came: int = field(default=0, init=False)

    def __len__(self) -> int:
        return len(self._line)

    def add(self, case: C) -> list[Passed[C]]:
        """Let a case wait; returns those that do not wait any more, which may be the case itself."""
        self._came += 1
        place = _Place((case.record.oldest_version, case.record.sampled_at, self._came), case)
        passed: list[Passed[C]] = []
        if waiting := self._of_question.get(_question(case)):
            older, newer = sorted((waiting, place), key=_age)
            again = older.case.record.group_id == newer.case.record.group_id
            passed.append(Passed(older.case, None if again else Action.SUPERSEDED))
            if newer is waiting:
                return passed
            self._leave(bisect_left(self._line, waiting.age, key=_age))
        insort(self._line, place, key=_age)
        self._of_question[_question(case)] = place
        self._bytes += case.size
        while self._too_much():
            passed.append(Passed(self._leave(0), Action.SHED))
        return passed

    def take(self) -> C | None:
        """The newest case, or None when none waits."""
        return self._leave(-1) if self._line else None

    def _too_much(self) -> bool:
        """One case may always wait, however large it is."""
        return len(self) > self.most or (self._bytes > self.most_bytes and len(self) > 1)

    def _leave(self, index: int) -> C:
        case = self._line.pop(index).case
        del self._of_question[_question(case)]
        self._bytes -= case.size
        return case


def _question(case: _Case) -> tuple[str, str]:
    """Its text and reference: a plain query and the lessons made of it have different ids."""
    return case.record.query.question, case.record.query.reference


def _age(place: _Place[C]) -> Age:
    return place.age

"""Where the records about each question stand, of as many as memory allows. No I/O."""

from collections import OrderedDict
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

from consumers.following import Event
from schemas import Diagnosis, Group, Query

PLACES = 100_000
"""Of records that are known; those known longest are forgotten first."""
MOST = 256
"""Of one question."""


class Place(NamedTuple):
    """One record on its topic."""

    topic: str
    """Its name within the run."""
    partition: int
    offset: int


def question_key(query: Query) -> str:
    """What all queries of one question have in common, plain and guided, of every epoch."""
    text = f"{query.question}\x1f{query.reference}".encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=8).hexdigest()


class Index:
    """Takes records in any order; says where those about a question are."""

    def __init__(self) -> None:
        self._places: OrderedDict[str, list[Place]] = OrderedDict()
        self._cases: OrderedDict[str, list[Place]] = OrderedDict()
        """Diagnoses by the group they are of: they do not hold the question."""
        self._groups: OrderedDict[str, list[str]] = OrderedDict()
        """Ids of a question's groups."""
        self._latest: dict[str, float] = {}
        """When the newest record under each key was appended."""
        self._count = 0
        self.since: float | None = None
        """From when on every record is known here; None where nothing older was kept."""

    def begins(self, moment: float) -> None:
        """Records older than this were not read, or are forgotten."""
        self.since = max(moment, self.since or 0.0)

    def take(self, event: Event) -> None:
        """One record more."""
        place = Place(event.topic.name, event.place.partition, event.offset)
        match event.record:
            case Group(group_id=group_id, query=query):
                key = question_key(query)
                self._keep(self._places, key, place, event.time)
                groups = self._groups.setdefault(key, [])
                if group_id not in groups and len(groups) < MOST:
                    groups.append(group_id)
            case Query() as query:
                self._keep(self._places, question_key(query), place, event.time)
            case Diagnosis(group_id=group_id):
                self._keep(self._cases, group_id, place, event.time)
            case _:
                pass

    def about(self, key: str) -> list[Place]:
        """Records of and around the question's groups and lessons."""
        found = list(self._places.get(key, ()))
        for group_id in self._groups.get(key, ()):
            found += self._cases.get(group_id, ())
        return found[-MOST:]

    def groups(self, key: str) -> Iterator[str]:
        """Ids of the question's groups."""
        yield from self._groups.get(key, ())

    def __len__(self) -> int:
        return self._count

    def _keep(self, known: OrderedDict[str, list[Place]], key: str, place: Place, time: float) -> None:
        places = known.setdefault(key, [])
        if place in places:
            return
        places.append(place)
        known.move_to_end(key)
        self._latest[key] = max(time, self._latest.get(key, time))
        self._count += 1
        if len(places) > MOST:
            del places[0]
            self._count -= 1
        while self._count > PLACES:
            self._forget()

    def _forget(self) -> None:
        larger = max(self._places, self._cases, key=len)
        key, places = larger.popitem(last=False)
        self._count -= len(places)
        self.begins(self._latest.pop(key))
        if larger is self._places:
            self._groups.pop(key, None)

"""What is counted of the messages that pass, and by what they are known again."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as replaced

from consumers.archive import manifest
from consumers.archive.manifest import ArchiveError, HeldTopic, Manifest
from consumers.archive.tally import LATEST_TIME, Tallies, nanoseconds, seconds_of
from mentor_stream.broker import Bounds, Message
from tests.consumers.archive.conftest import a_message

headers = st.lists(st.tuples(st.text(max_size=3), st.binary(max_size=3)), max_size=2).map(tuple)
bodies = st.fixed_dictionaries(
    {"key": st.binary(max_size=4), "value": st.binary(max_size=4), "headers": headers}
)


def digest(*messages: Message, end: int = 100) -> str:
    tallies = Tallies(1)
    tallies.add(messages)
    return tallies.held({0: Bounds(0, end)})[0].digest


@given(st.floats(0, LATEST_TIME))
def test_a_time_comes_back_from_nanoseconds_as_it_was_or_within_half_of_one(moment: float):
    assert abs(seconds_of(nanoseconds(moment)) - moment) <= 0.5e-9
    if moment > 2**24:  # since 1970-07; a float holds no nanosecond there
        assert seconds_of(nanoseconds(moment)) == moment


@given(bodies, bodies)
def test_messages_have_one_digest_only_when_they_are_equal(one: dict, other: dict):
    same = one == other
    assert (digest(a_message(0, **one)) == digest(a_message(0, **other))) == same
    # and no byte can move from a part to the next, or from a message to another
    moved = [a_message(0, **one), a_message(1, **other)]
    swapped = [a_message(0, **other), a_message(1, **one)]
    assert (digest(*moved) == digest(*swapped)) == same


def test_offset_and_time_are_of_the_digest():
    known = a_message(3, 5.0)
    assert digest(known) == digest(replace(known, topic="elsewhere"))
    assert len({digest(known), digest(replace(known, offset=4)), digest(replace(known, timestamp=5.5))}) == 3


def test_a_time_is_no_earlier_than_that_of_the_message_before():
    tallies = Tallies(2)
    given = [a_message(0, 5.0), a_message(1, 4.0), a_message(0, 1.0, 1), a_message(2, 6.0)]
    assert [m.timestamp for m in tallies.add(given)] == [5.0, 5.0, 1.0, 6.0]
    assert tallies.add([a_message(3, 1e300)])[0].timestamp == LATEST_TIME


def test_what_is_missing_is_counted_and_an_empty_partition_begins_with_its_end():
    tallies = Tallies(2)
    tallies.add([a_message(7, 1.0), a_message(9, 2.0)])
    one, other = tallies.held({0: Bounds(5, 10), 1: Bounds(4, 4)})
    assert (one.first, one.next, one.messages, one.missing) == (7, 10, 2, 3)
    assert (one.since, one.until) == (1.0, 2.0)
    assert (other.first, other.next, other.messages, other.missing, other.since) == (4, 4, 0, 0, None)


@pytest.mark.parametrize(
    "strange", [[a_message(1), a_message(1)], [a_message(2), a_message(1)], [a_message(0, partition=1)]]
)
def test_messages_out_of_order_or_of_no_partition_are_refused(strange: list[Message]):
    with pytest.raises(ValueError, match=r"comes after|another partition"):
        Tallies(1).add(strange)


def a_manifest() -> Manifest:
    tallies = Tallies(1)
    tallies.add([a_message(0)])
    topic = HeldTopic(
        name="groups",
        max_message_bytes=7,
        retention_seconds=None,
        retention_bytes=None,
        replication=1,
        partitions=tallies.held({0: Bounds(0, 1)}),
    )
    return Manifest(run="r", source="kafka", exported_at=1.0, since=None, until=None, topics=(topic,))


def test_a_manifest_comes_back_as_it_was_and_no_byte_of_it_can_be_changed():
    known = a_manifest()
    data = manifest.encode(known)
    assert manifest.decode(data) == known
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        try:
            assert manifest.decode(changed) == known
        except ArchiveError:
            continue


@pytest.mark.parametrize("what", ["partitions", "topics", "config"])
def test_a_manifest_that_somebody_made_up_is_refused(what: str):
    known = a_manifest()
    (topic,) = known.topics
    strange = {
        "partitions": {
            "topics": (replaced(topic, partitions=(replaced(topic.partitions[0], partition=7),)),)
        },
        "topics": {"topics": (topic, topic)},
        "config": {"config": {"run": "name"}},
    }[what]
    with pytest.raises(ArchiveError, match=r"from 0 on|a topic twice|cannot be read"):
        manifest.decode(manifest.encode(replaced(known, **strange)))


def test_a_manifest_of_a_later_format_says_so():
    data = manifest.encode(replaced(a_manifest(), format=2))
    with pytest.raises(ArchiveError, match="it is of format 2, and this program reads 1"):
        manifest.decode(data)

"""Who of a group reads which partition."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from mentor_stream.broker.sqlite.assignment import balance

MEMBERS = "abcdefg"

patient = settings(deadline=None, max_examples=60)

topics = st.lists(st.integers(1, 9), min_size=1, max_size=3).map(
    lambda sizes: [[(topic, number) for number in range(size)] for topic, size in enumerate(sizes)]
)
members = st.lists(st.sampled_from(MEMBERS), min_size=1, unique=True)


@st.composite
def before(draw, topics):
    """Any assignment that may have been in force."""
    partitions = [partition for topic in topics for partition in topic]
    return draw(st.dictionaries(st.sampled_from(partitions), st.sampled_from(MEMBERS)))


@patient
@given(st.data())
def test_every_partition_has_one_reader_and_each_topic_is_spread_evenly(data):
    partitions = data.draw(topics)
    readers = [data.draw(members) for _ in partitions]
    assigned = balance(partitions, readers, data.draw(before(partitions)))
    assert set(assigned) == {partition for topic in partitions for partition in topic}
    for topic, names in zip(partitions, readers, strict=True):
        held = Counter(assigned[partition] for partition in topic)
        assert set(held) <= set(names)
        assert max(held[name] for name in names) - min(held[name] for name in names) <= 1


@patient
@given(topics, members)
def test_when_nobody_came_or_went_nothing_moves(partitions, names):
    readers = [names] * len(partitions)
    assigned = balance(partitions, readers, {})
    assert balance(partitions, readers, assigned) == assigned


@patient
@given(topics, members)
def test_when_a_member_leaves_only_its_partitions_move(partitions, names):
    assigned = balance(partitions, [names] * len(partitions), {})
    left, *others = names
    if others:
        after = balance(partitions, [others] * len(partitions), assigned)
        assert all(after[partition] == name for partition, name in assigned.items() if name != left)


@patient
@given(topics, members)
def test_when_a_member_joins_partitions_move_to_it_only(partitions, names):
    *others, joined = names
    if others:
        assigned = balance(partitions, [others] * len(partitions), {})
        after = balance(partitions, [names] * len(partitions), assigned)
        assert all(after[p] in (name, joined) for p, name in assigned.items())


def test_two_topics_of_four_partitions_and_three_members_make_no_member_idle():
    partitions = [[(topic, number) for number in range(4)] for topic in range(2)]
    load = Counter(balance(partitions, ["abc", "abc"], {}).values())
    assert sorted(load.values()) == [2, 3, 3]


def test_a_topic_that_nobody_reads_has_no_reader():
    assert balance([[1, 2], [3]], [[], ["a"]], {1: "b"}) == {3: "a"}

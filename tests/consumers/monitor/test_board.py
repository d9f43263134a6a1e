"""What readers of the board get, however often they ask."""

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.following import Event
from consumers.monitor import curve, feed
from consumers.monitor.board import Board, Queue, Stand
from mentor_stream import topics
from mentor_stream.broker import TopicPartition
from mentor_stream.config import RunConfig
from tests.builders import a_record_of_each_kind
from tests.consumers.monitor.served import a_lesson, a_step

RUN = RunConfig.model_validate({"name": "run", "directory": "d", "broker": "sqlite:///b", "policy": "p"})


class Reader:
    """A client: keeps what it is told, as the page does."""

    def __init__(self) -> None:
        self.mark, self.rewards, self.hints = 0, list[list[float]](), dict[str, dict]()

    def read(self, board: Board) -> None:
        document = board.document(self.mark)
        self.mark = board.seal()
        told = document["curves"].get("reward", {"whole": False, "points": []})
        self.rewards = [*([] if told["whole"] else self.rewards), *told["points"]]
        if document["hints"]["whole"]:
            self.hints = {}
        self.hints |= {hint["id"]: dict(hint) for hint in document["hints"]["newest"]}


WHAT = st.one_of(
    st.tuples(st.just("step"), st.integers(0, 12)),
    st.tuples(st.just("lesson"), st.integers(0, 30)),
    st.tuples(st.just("read"), st.integers(0, 1)),
    st.tuples(st.just("tell"), st.just(0)),
)


@settings(max_examples=60)
@given(st.lists(WHAT, max_size=60))
def test_every_reader_ends_with_what_one_has_who_reads_it_all_at_once(happened):
    with patch.multiple(curve, RECENT=4, COARSE=4), patch.object(feed, "SHOWN", 5):
        board, readers, offset = Board(RUN), [Reader(), Reader()], 0
        board.caught_up = True
        for what, number in happened:
            if what == "read":
                readers[number].read(board)
            elif what == "tell":
                board.tell(1e9)
            else:
                told = a_lesson(number) if what == "lesson" else [a_step(number, 100.0, reward=number / 10)]
                for topic, record in told:
                    place = TopicPartition(topic.of("run"), 0)
                    board.take(Event(topic, place, offset, 1.0 + offset, record))
                    offset += 1
        board.tell(1e9)
        late = Reader()
        for reader in (late, *readers):
            reader.read(board)
        for reader in readers:
            assert reader.rewards[-4:] == late.rewards[-4:]
            assert {id_: reader.hints.get(id_) for id_ in late.hints} == late.hints


def test_a_hint_without_a_diagnosis_is_told_as_such_until_there_is_one():
    board, (collapsed, hint, diagnosis, _) = Board(RUN), a_lesson(1)
    board.caught_up = True

    def take(offset: int, told) -> None:
        place = TopicPartition(told[0].of("run"), 0)
        board.take(Event(told[0], place, offset, 1.0, told[1]))

    take(0, collapsed)
    take(0, hint)
    board.tell(1.0)
    assert board.document()["hints"]["newest"] == [], "its diagnosis is awaited"
    board.tell(60.0)
    (told,) = board.document()["hints"]["newest"]
    assert (told["diagnosed"], told["causes"]) == (False, [])
    mark = board.seal()
    take(0, diagnosis)
    (told,) = board.document(mark)["hints"]["newest"]
    assert (told["diagnosed"], told["causes"]) == (True, ["cannot count"])


def test_of_hints_from_before_what_was_read_it_is_not_said_that_they_have_no_diagnosis():
    board, (_, hint, _, _) = Board(RUN), a_lesson(1)
    board.caught_up = True
    board.index.begins(100.0)
    board.take(Event(hint[0], TopicPartition("run.guided", 0), 5, 99.0, hint[1]))
    board.tell(200.0)
    assert [told["diagnosed"] for told in board.document()["hints"]["newest"]] == [None]


def test_what_cannot_be_read_is_counted_and_what_is_not_known_is_nothing():
    board = Board(RUN)
    topic, _ = a_step(0, 1.0)
    board.take(Event(topic, TopicPartition("run.metrics", 0), 0, 1.0, None, "ForeignRecord"))
    status = board.document()["status"]
    assert (status["unreadable"], status["version"], status["progress"]) == (1, None, None)


def test_what_waits_is_told_until_the_run_is_over():
    board, release = Board(RUN), a_record_of_each_kind()["policy_release"]
    board.hear(Stand(1.0, (Queue("queries", "rollout", 7),)))
    topic, step = a_step(0, 1.0, pending_groups=3.0)
    board.take(Event(topic, TopicPartition("run.metrics", 0), 0, 1.0, step))
    assert [queue["waiting"] for queue in board.document()["status"]["queues"]] == [7, 3]
    board.take(Event(topics.POLICIES, TopicPartition("run.policies", 0), 0, 1.0, release))
    status = board.document()["status"]
    assert (status["finished"], status["queues"]) == (True, [])

"""The crash tests' judge, on journals made up by hand: it must find each way in which a broker can fail."""

from pathlib import Path

import pytest

from tests.broker.chaos.journal import (
    Acknowledged,
    Attempt,
    Committed,
    Delivered,
    Entry,
    Handled,
    History,
    Journal,
    Logged,
    Woken,
    read,
)
from tests.broker.chaos.stands import COMMIT_SECONDS
from tests.broker.chaos.verdict import Counts, counts, violations

PREFETCH = 2
PARTITION = 0


def sent(time: float, number: int, offset: int) -> list[Entry]:
    return [Attempt(time, "k", number), Acknowledged("k", number, PARTITION, offset, time + 0.1)]


def got(time: float, number: int, offset: int) -> Delivered:
    return Delivered("k", number, PARTITION, offset, time)


def handled(time: float, offset: int) -> Handled:
    return Handled(time, PARTITION, offset)


def committed(time: float, offset: int) -> Committed:
    return Committed(time, PARTITION, offset)


def logged(*numbers: int) -> list[Logged]:
    return [Logged("k", number, PARTITION, offset) for offset, number in enumerate(numbers)]


def a_history(**journals: list[Entry]) -> History:
    """Message 1 was under way when its producer died, and was appended twice; consumer `a` died with 1 and 2
    in its hands, and `b` went on where the group stood."""
    usual: dict[str, list[Entry]] = {
        "producer1": [*sent(1, 0, 0), Attempt(1.5, "k", 1)],
        "producer2": [*sent(2, 1, 2), *sent(3, 2, 3)],
        "watcher": [committed(4.3, 1), committed(6.7, 4)],
        "a": [got(4, 0, 0), got(4, 1, 1), handled(4.1, 0), got(4.2, 1, 2), handled(4.3, 2)],
        "b": [
            *[got(5, 1, 1), got(5.1, 1, 2), handled(5.2, 2), handled(5.3, 1)],
            *[got(5.4, 2, 3), handled(6, 3)],
        ],
    }
    return History(usual | journals, logged(0, 1, 1, 2))


def found(history: History) -> set[str]:
    """The kinds of violations."""
    return {violation.partition(":")[0] for violation in violations(history, prefetch=PREFETCH)}


def test_duplicates_of_a_crash_are_no_violation_and_are_counted():
    history = a_history()
    assert violations(history, prefetch=PREFETCH) == []
    assert counts(history) == Counts(acknowledged=3, logged=4, logged_again=1, delivered=6, delivered_again=2)


def test_an_acknowledged_message_that_is_not_in_the_log_is_lost():
    history = a_history(producer3=sent(4, 3, 4))
    assert found(history) == {"lost", "missing"}


def test_an_acknowledged_message_that_stands_elsewhere_than_its_receipt_says_is_lost():
    history = a_history(producer2=[*sent(2, 1, 1), *sent(3, 2, 2)])
    assert found(history) == {"lost"}


def test_a_message_appended_more_often_than_it_was_sent_is_a_duplicate():
    history = a_history(producer1=sent(1, 0, 0))
    assert found(history) == {"duplicate"}


def test_a_message_nobody_sent_is_a_duplicate_of_nothing():
    history = a_history(b=[*a_history().journals["b"], got(6.1, 3, 4), handled(6.2, 4)])
    history.log = logged(0, 1, 1, 2, 3)
    assert found(history) == {"duplicate"}


def test_messages_of_a_key_in_another_order_than_sent_are_found_in_the_log():
    history = a_history(producer2=[*sent(2, 1, 2), *sent(3, 2, 1)])
    history.log = logged(0, 2, 1, 1)
    assert "order" in found(history)


def test_a_key_in_two_partitions_is_scattered():
    history = a_history()
    history.log[0] = Logged("k", 0, 1, 0)
    assert "scattered" in found(history)


def test_a_delivery_before_an_earlier_message_of_its_key_is_out_of_order():
    first = [got(3.9, 2, 3), *a_history().journals["a"]]
    assert "order" in found(a_history(a=first))


def test_a_message_that_was_delivered_as_another_is_foreign():
    history = a_history(b=[got(5, 1, 1), got(5.1, 1, 2), got(5.2, 1, 3), *map(handled, (6, 6, 6), (1, 2, 3))])
    assert "foreign" in found(history)


def test_a_message_delivered_to_nobody_is_missing_and_unhandled():
    history = a_history(b=a_history().journals["b"][:4])
    assert found(history) == {"missing", "unhandled", "passed over"}


def test_a_message_that_was_delivered_and_never_handled_is_unhandled():
    history = a_history(b=a_history().journals["b"][:5], watcher=[committed(4.3, 1)])
    assert found(history) == {"unhandled"}


def test_a_commit_beyond_a_message_in_hand_is_found_even_if_it_gets_handled_later():
    assert found(a_history(watcher=[committed(4.35, 3)])) == {"passed over", "taken back"}
    assert found(a_history(watcher=[committed(5.25, 3)])) == {"passed over"}


def test_a_member_that_goes_on_behind_a_message_in_hand_has_passed_it_over():
    assert found(a_history(b=[got(5.1, 1, 2), handled(5.2, 2), *a_history().journals["b"]])) == {
        "passed over"
    }


def test_a_member_that_leaves_a_message_out_has_passed_it_over():
    a, b = a_history().journals["a"], [got(5.4, 2, 3), handled(6, 3)]
    late = [got(7, 1, 1), handled(7.1, 1)]
    assert "passed over" in found(a_history(a=[*a[:3], *a[3:], *late], b=b))


def test_what_was_committed_must_not_come_again():
    history = a_history(b=[*a_history().journals["b"], got(7, 1, 2), handled(7.1, 2)])
    assert found(history) == {"taken back"}


def test_a_commit_must_not_go_back():
    assert found(a_history(watcher=[committed(6.3, 4), committed(6.4, 3)])) == {"taken back"}


def test_a_member_that_was_stalled_may_hand_out_what_it_had_fetched_but_not_more():
    late = [got(7, 1, 2), handled(7.1, 2)]
    woken: list[Entry] = [Woken(6.9, "b")]
    assert found(a_history(b=[*a_history().journals["b"], *late], killer=woken)) == set()
    more = [*late, got(7.2, 2, 3), got(7.3, 1, 1), handled(7.4, 3), handled(7.4, 1)]
    assert found(a_history(b=[*a_history().journals["b"], *more], killer=woken)) == {"taken back"}


def work(begin: float, numbers: range) -> list[Entry]:
    """A message every tenth of a second, handled at once."""
    entries: list[Entry] = []
    for count, number in enumerate(numbers):
        entries += [got(begin + count / 10, number, number), handled(begin + count / 10 + 0.01, number)]
    return entries


def a_long_history(count: int, **journals: list[Entry]) -> History:
    attempts: list[Entry] = [Attempt(1, "k", number) for number in range(count)]
    return History({"producer": attempts, **journals}, logged(*range(count)))


@pytest.mark.parametrize(
    ("seconds", "verdict"), [(COMMIT_SECONDS - 1, set()), (COMMIT_SECONDS + 1, {"taken back"})]
)
def test_what_a_member_handled_and_had_time_to_commit_must_not_come_again(seconds: float, verdict: set[str]):
    count = int(10 * seconds)
    history = a_long_history(count, a=work(10, range(count)), b=[got(10 + seconds + 1, 0, 0)])
    assert found(history) == verdict


def test_a_silence_is_no_time_to_commit():
    a = [*work(10, range(10)), *work(20 + COMMIT_SECONDS, range(10, 20))]
    assert found(a_long_history(20, a=a, b=[got(30 + COMMIT_SECONDS, 0, 0)])) == set()


def test_a_member_owes_commits_of_a_partition_that_it_has_got_back():
    count = int(10 * COMMIT_SECONDS) + 20
    a = [got(10, 0, 0), *work(13, range(10, count))]
    b = [*work(11, range(10)), got(14 + count / 10, 12, 12)]
    assert found(a_long_history(count, a=a, b=b)) == {"taken back"}


def test_a_journal_is_read_up_to_the_line_that_a_kill_cut_off(tmp_path: Path):
    path = tmp_path / "journal"
    entries: list[Entry] = [*sent(1, 0, 0), got(2, 0, 0), handled(3, 0), committed(4, 1), Woken(5, "a")]
    for entry in entries:
        Journal(path).write(entry)
    whole = path.read_bytes()
    assert read(path) == entries
    path.write_bytes(whole[:-2])
    assert read(path) == entries[:-1]
    assert read(tmp_path / "none") == []

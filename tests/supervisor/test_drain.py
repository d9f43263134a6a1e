"""When nothing more can come to the trainer."""

from dataclasses import replace

import pytest

from mentor_stream.supervisor.drain import Queues, drained

REST = Queues(time=100.0, queries=0, guided=0, collapsed=0, written=40)
LATER = replace(REST, time=104.0)


def test_a_stream_at_rest_for_long_enough_is_drained() -> None:
    assert drained(REST, LATER, settle_seconds=3, mentored=True)


def test_two_readings_close_together_prove_nothing() -> None:
    assert not drained(REST, replace(REST, time=101.0), settle_seconds=3, mentored=True)


@pytest.mark.parametrize("queue", ["queries", "guided", "collapsed"])
@pytest.mark.parametrize("when", ["earlier", "later"])
def test_work_in_any_queue_at_either_reading_is_waited_for(queue: str, when: str) -> None:
    earlier, later = REST, LATER
    if when == "earlier":
        earlier = replace(earlier, **{queue: 1})
    else:
        later = replace(later, **{queue: 1})
    assert not drained(earlier, later, settle_seconds=3, mentored=True)


def test_a_record_written_between_the_readings_is_work_that_moved_on() -> None:
    assert not drained(REST, replace(LATER, written=41), settle_seconds=3, mentored=True)


def test_collapsed_groups_that_no_mentor_reads_are_not_waited_for() -> None:
    earlier, later = replace(REST, collapsed=9), replace(LATER, collapsed=9)
    assert drained(earlier, later, settle_seconds=3, mentored=False)
    assert not drained(earlier, later, settle_seconds=3, mentored=True)

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from producers.admission import Admission
from schemas import Consumed


def an_admission(version: int = 0, *, resolved: int = 0, accepted: int = 0) -> Admission:
    return Admission(version, Consumed(resolved=resolved, accepted=accepted), batch_groups=8, max_staleness=2)


def test_a_fresh_run_may_feed_as_many_batches_as_may_be_stale_and_one() -> None:
    assert an_admission().room(0) == 3 * 8
    assert an_admission().room(24) == 0


def test_groups_that_took_no_place_in_a_batch_make_room_for_others() -> None:
    assert an_admission(resolved=10, accepted=4).room(24) == 6


def test_guided_groups_take_the_room_of_plain_ones() -> None:
    assert an_admission(resolved=0, accepted=8).room(0) == 16


def test_more_accepted_than_fits_leaves_no_room() -> None:
    assert an_admission(accepted=30).room(0) == 0
    assert an_admission(accepted=30).capacity < 0


def test_counters_lost_on_resume_start_from_the_batches_that_were_trained() -> None:
    lost, kept = an_admission(5), an_admission(5, accepted=40)
    assert lost.room(0) == kept.room(0) == 24


@given(st.data(), st.integers(1, 5), st.integers(0, 3))
@settings(deadline=None)
def test_no_group_waits_longer_than_the_staleness_bound(data: st.DataObject, batch: int, bound: int) -> None:
    """Feeder, rollout and trainer in miniature: whatever their order, a plain group is trained in time.

    A group is as old as the policy that sampled it, however long its query waited before.
    """
    admission = Admission(0, Consumed(), batch, bound)
    fed, asked, waiting = 0, 0, []
    for _ in range(data.draw(st.integers(0, 80))):
        move = data.draw(st.sampled_from(["feed", "sample", "silent", "train"]))
        consumed = admission.consumed
        if move == "feed":
            room = admission.room(fed)
            fed, asked = fed + room, asked + room
        elif move in ("sample", "silent") and asked:
            asked -= 1
            accepted = move == "sample"
            waiting += [admission.version] * accepted
            consumed = replace_counts(consumed, accepted)
        elif move == "train" and len(waiting) >= batch:
            assert all(admission.version - born <= bound for born in waiting[:batch])
            waiting = waiting[batch:]
            admission = replace(admission, version=admission.version + 1)
        admission = replace(admission, consumed=consumed)
        assert admission.outstanding(fed) == asked


def replace_counts(consumed: Consumed, accepted: bool) -> Consumed:
    return Consumed(resolved=consumed.resolved + 1, accepted=consumed.accepted + accepted)

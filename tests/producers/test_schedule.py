from producers.schedule import Schedule
from schemas import Consumed, PolicyRelease


def a_release(version: int, *, final: bool = False, digest: str = "", tokens: int = 0) -> PolicyRelease:
    return PolicyRelease(
        policy_version=version,
        step=version,
        uri="somewhere",
        digest=digest or f"digest of {version}",
        consumed=Consumed(tokens=tokens),
        final=final,
        published_at=0.0,
    )


def schedule(*versions: int, every: int = 10, evaluated: tuple[int, ...] = ()) -> Schedule:
    found = Schedule(every, evaluated)
    for version in versions:
        found.note(a_release(version))
    return found


def order(found: Schedule) -> list[int]:
    """Versions in the order in which they are evaluated."""
    versions = []
    while release := found.next():
        versions.append(release.policy_version)
        found.evaluated(release)
    return versions


def test_version_zero_comes_first_then_the_newest_that_is_due() -> None:
    assert order(schedule(0, 1, 9, 10, 11, 20, 21)) == [0, 20]


def test_versions_between_are_not_evaluated() -> None:
    assert order(schedule(1, 2, 3)) == []


def test_the_final_version_is_evaluated_even_when_it_is_not_due() -> None:
    found = schedule(0, 10)
    found.note(a_release(13, final=True))
    assert not found.over
    assert order(found) == [0, 13]
    assert found.over


def test_a_final_word_on_a_version_that_has_its_figure_ends_the_schedule() -> None:
    found = schedule(10)
    assert order(found) == [10]
    assert not found.over
    found.note(a_release(10, final=True))
    assert found.next() is None
    assert found.over


def test_what_an_earlier_life_evaluated_is_not_evaluated_again() -> None:
    assert order(schedule(0, 10, 20, evaluated=(0, 20))) == [10]
    ended = Schedule(10, {13})
    ended.note(a_release(13, final=True))
    assert ended.over


def test_fresh_counters_of_a_version_that_waits_keep_its_first_token_count() -> None:
    found = schedule()
    found.note(a_release(10, tokens=100))
    found.note(a_release(10, tokens=150))
    release = found.next()
    assert release is not None
    assert release.consumed.tokens == 100


def test_after_a_trainer_fell_back_its_last_word_counts_not_its_highest() -> None:
    found = schedule(20)
    found.note(a_release(15, final=True))
    assert order(found) == [15]
    assert found.over
    again = schedule(20)
    again.note(a_release(20, digest="other weights"))
    release = again.next()
    assert release is not None
    assert release.digest == "other weights"


def test_a_version_that_is_left_out_does_not_come_again() -> None:
    found = schedule(10)
    release = found.next()
    assert release is not None
    found.left_out(release)
    assert found.next() is None
    assert not found.over

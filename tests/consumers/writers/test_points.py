"""What of the metrics topic is written."""

from hypothesis import given
from hypothesis import strategies as st

from consumers.writers.points import Point, Reached, advance, series_of
from schemas import Metric


def a_metric(
    component: str = "trainer",
    *,
    version: int | None = 1,
    time: float = 0.0,
    instance: str = "host:1",
    **values: float,
) -> Metric:
    return Metric(
        component=component, instance=instance, time=time, policy_version=version, values=values or {"x": 1.0}
    )


def points(*metrics: Metric, every: float = 10.0) -> list[Point]:
    reached, found = Reached(), []
    for offset, metric in enumerate(metrics):
        reached, point = advance(reached, offset, metric, every)
        found += [point] if point else []
    assert reached.offset == len(metrics)
    return found


def test_a_step_of_the_trainer_is_a_point_at_its_policy_version() -> None:
    assert points(a_metric(version=7, time=5.0, loss=0.5)) == [
        Point("trainer", 7, 5.0, {"trainer/loss": 0.5}, rewound=False)
    ]


def test_every_step_is_kept_and_of_a_worker_one_record_in_so_many_seconds() -> None:
    steps = [a_metric(version=v, time=v / 10) for v in range(5)]
    assert [p.step for p in points(*steps)] == [0, 1, 2, 3, 4]
    reports = [a_metric("rollout", time=float(t)) for t in range(25)]
    assert [p.time for p in points(*reports)] == [0, 10, 20]


def test_a_worker_whose_clock_went_back_is_not_silent_until_it_has_caught_up() -> None:
    reports = [a_metric("rollout", time=time) for time in (7000.0, 7010.0, 10.0, 15.0, 20.0)]
    assert [p.time for p in points(*reports)] == [7000, 7010, 10, 20]


def test_workers_are_series_of_their_own_and_do_not_thin_each_other_out() -> None:
    found = points(
        a_metric("rollout", instance="a:1"),
        a_metric("rollout", instance="b:1"),
        a_metric("mentor", instance="a:2"),
    )
    assert [p.series for p in found] == ["rollout-a-1", "rollout-b-1", "mentor-a-2"]


def test_a_trainer_that_went_back_to_a_checkpoint_says_so_at_its_first_step_again() -> None:
    found = points(*(a_metric(version=v) for v in (1, 2, 3, 2, 3, 4)))
    assert [p.rewound for p in found] == [False, False, False, True, False, False]


def test_what_a_trainer_tells_between_two_versions_is_no_point_and_takes_none_back() -> None:
    between = a_metric(version=None, time=2.0)
    kept = points(a_metric(version=5, time=1.0), between, a_metric(version=6, time=3.0))
    assert [(point.step, point.rewound) for point in kept] == [(5, False), (6, False)]


def test_what_cannot_be_read_or_says_nothing_is_passed() -> None:
    assert advance(Reached(), 4, None, 1.0) == (Reached(offset=5), None)
    empty = Metric(component="trainer", instance="", time=0.0, policy_version=1, values={})
    assert advance(Reached(), 4, empty, 1.0) == (Reached(offset=5), None)


@given(st.text(), st.text())
def test_a_series_name_is_safe_as_the_name_of_a_directory(component: str, instance: str) -> None:
    name = series_of(a_metric(component, instance=instance))
    assert "/" not in name
    assert not name.startswith(".")
    assert 0 < len(name) <= 120


@given(
    st.lists(st.tuples(st.sampled_from(["trainer", "rollout", "mentor"]), st.floats(0, 100)), max_size=30),
    st.data(),
)
def test_where_it_is_interrupted_changes_nothing(
    records: list[tuple[str, float]], data: st.DataObject
) -> None:
    metrics = [a_metric(component, time=time) for component, time in records]
    cut = data.draw(st.integers(0, len(metrics)))
    reached, found = Reached(), []
    for offset, metric in enumerate(metrics):
        if offset == cut:
            reached = _kept_and_read(reached)
        reached, point = advance(reached, offset, metric, 10.0)
        found += [point] if point else []
    assert found == points(*metrics)


def _kept_and_read(reached: Reached) -> Reached:
    import msgspec

    return msgspec.json.decode(msgspec.json.encode(reached), type=Reached)

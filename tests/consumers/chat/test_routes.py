"""Which of several endpoints is asked."""

from hypothesis import given
from hypothesis import strategies as st

from consumers.chat.circuit import Health
from consumers.chat.routes import Route, choose, soonest

AWAKE, RESTING = Health.AWAKE, Health.RESTING


def a_route(health: Health = AWAKE, *, wakes: float = 0.0, load: float = 0.0) -> Route:
    return Route(health, wakes, load)


def test_the_first_that_works_is_asked_however_busy_it_is() -> None:
    assert choose([a_route(load=9.0), a_route()], set(), spread=False) == 0
    assert choose([a_route(RESTING), a_route()], set(), spread=False) == 1


def test_load_is_spread_where_that_is_wanted() -> None:
    assert choose([a_route(load=0.5), a_route(load=0.2), a_route(load=0.2)], set(), spread=True) == 1


def test_one_that_failed_this_question_is_not_asked_again() -> None:
    assert choose([a_route(), a_route()], {0}, spread=False) == 1
    assert choose([a_route(), a_route()], {0, 1}, spread=False) is None


def test_one_whose_rest_is_over_is_tried_and_one_on_trial_left_alone() -> None:
    assert choose([a_route(Health.DUE), a_route()], set(), spread=False) == 0
    assert choose([a_route(Health.ON_TRIAL), a_route()], set(), spread=False) == 1
    assert choose([a_route(Health.ON_TRIAL), a_route(RESTING)], set(), spread=False) == 0


def test_while_all_rest_the_soonest_is_waited_for() -> None:
    routes = [a_route(RESTING, wakes=9.0), a_route(RESTING, wakes=5.0)]
    assert choose(routes, set(), spread=False) is None
    assert soonest(routes, set()) == 1
    assert soonest(routes, {1}) == 0
    assert soonest(routes, {0, 1}) is None


@given(
    st.lists(st.builds(Route, st.sampled_from(Health), st.floats(0, 9), st.floats(0, 9))),
    st.sets(st.integers(0, 5)),
    st.booleans(),
)
def test_what_is_chosen_neither_rests_nor_failed(routes: list[Route], failed: set[int], spread: bool) -> None:
    place = choose(routes, failed, spread=spread)
    usable = [n for n, route in enumerate(routes) if route.health is not RESTING and n not in failed]
    assert (place in usable) if usable else place is None

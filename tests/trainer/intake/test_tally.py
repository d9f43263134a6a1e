from tests.builders import a_group, a_guided_query
from trainer.intake.tally import Tally


def test_rates_are_means_over_what_arrived() -> None:
    tally = Tally()
    tally.add(a_group("RRWW"), collapsed=False)
    tally.add(a_group("WWWW"), collapsed=True)
    tally.add(a_group("RWWU", query=a_guided_query()), collapsed=False)
    assert tally.values() == {
        "reward": 0.25,
        "guided_reward": 1 / 3,
        "zero_reward_fraction": 0.5,
        "rescue_rate": 1.0,
    }


def test_a_rate_with_nothing_behind_it_is_left_out() -> None:
    tally = Tally()
    assert tally.values() == {}
    tally.add(a_group("UU"), collapsed=False)
    assert tally.values() == {"zero_reward_fraction": 0.0}

import pytest

from producers.collapse import collapsed
from tests.builders import a_group


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [("W", True), ("WWWW", True), ("WWRW", False), ("WWUW", False), ("WWAW", False), ("RRRR", False)],
)
def test_a_group_is_collapsed_when_every_trajectory_was_judged_wrong(verdicts: str, expected: bool) -> None:
    assert collapsed([t.verdict for t in a_group(verdicts).trajectories]) is expected


def test_no_trajectories_are_no_collapse() -> None:
    assert not collapsed([])

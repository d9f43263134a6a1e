"""What records promise beyond their fields."""

import pytest

import schemas
from schemas import Origin
from tests.builders import a_group, a_guided_query, a_query, a_trajectory


def test_the_same_work_has_the_same_id_and_other_work_another() -> None:
    ids = [
        schemas.group_id("run", "query", 0),
        schemas.group_id("run", "query", 1),
        schemas.group_id("other", "query", 0),
        schemas.query_id("run", 0),
        schemas.guided_query_id("run", "query", 0),
        schemas.hint_id("run", "query"),
    ]
    assert len(set(ids)) == len(ids)
    assert ids[0] == "419a343d6cb1a0d9809730049162caba", "an id that moves breaks every recorded run"


def test_a_guided_query_must_carry_its_hint_and_a_plain_one_none() -> None:
    plain, guided = a_query(), a_guided_query()
    with pytest.raises(ValueError, match="a guided query without a hint"):
        _with(plain, origin=Origin.GUIDED)
    with pytest.raises(ValueError, match="a plain query with a hint"):
        _with(guided, origin=Origin.PLAIN)


def test_a_group_is_as_old_as_its_oldest_token() -> None:
    group = _with(a_group("WR"), trajectories=(a_trajectory(version=7), a_trajectory(version=4)))
    assert group.oldest_version == 4


def test_a_group_without_trajectories_is_refused() -> None:
    with pytest.raises(ValueError, match="without trajectories"):
        a_group("")


def _with(record, **changes):
    import msgspec

    return type(record)(**{**msgspec.structs.asdict(record), **changes})

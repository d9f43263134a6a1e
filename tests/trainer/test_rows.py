import msgspec
import pytest

import schemas
from mentor_stream.config import parse_section
from schemas import Group
from tests.builders import a_group
from trainer.config import TrainerConfig
from trainer.rows import Row, rows_of


def the_rows(*groups: Group, **settings: object) -> list[Row]:
    return rows_of(groups, parse_section(TrainerConfig, settings, "trainer"))


def test_under_a_dropped_hint_the_bare_prompt_is_learned_from() -> None:
    group = msgspec.structs.replace(a_group("WR"), bare_prompt_ids=schemas.ids([9, 10]))
    kept, dropped = (the_rows(group, hint_context=how) for how in ("keep", "drop"))
    assert kept[0].prompt_ids.tolist() == group.trajectories[0].prompt_ids.numpy().tolist()
    assert dropped[0].prompt_ids.tolist() == [9, 10]
    assert dropped[0].completion_ids.tolist() == kept[0].completion_ids.tolist()


def test_what_has_no_advantage_is_not_run_but_counts_in_the_normalization() -> None:
    silent, telling = a_group("WW"), a_group("WRU")
    rows = the_rows(silent, telling)
    assert [row.advantage > 0 for row in rows] == [False, True]
    judged = [*silent.trajectories, *telling.trajectories[:2]]
    tokens = sum(len(trajectory.completion_ids) for trajectory in judged)
    assert [row.weight for row in rows] == [pytest.approx(1 / tokens)] * 2

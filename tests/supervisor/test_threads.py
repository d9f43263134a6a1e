"""How the cores are shared among the processes of a run."""

import pytest

from mentor_stream.supervisor.threads import thread_settings


@pytest.mark.parametrize(
    ("cores", "processes", "threads"), [(2, 2, "1"), (8, 2, "4"), (1, 4, "1"), (3, 2, "1")]
)
def test_the_cores_are_shared_and_nobody_gets_less_than_one_thread(
    cores: int, processes: int, threads: str
) -> None:
    assert set(thread_settings(cores, processes, {}).values()) == {threads}


def test_what_the_user_has_set_stays() -> None:
    assert thread_settings(8, 2, {"OMP_NUM_THREADS": "3"}) == {}

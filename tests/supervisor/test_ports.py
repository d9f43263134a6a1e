"""Where the components of one machine serve their metrics."""

from pathlib import Path

import pytest

from mentor_stream.config import load
from mentor_stream.metrics.listening import LISTEN, TelemetryConfig
from mentor_stream.supervisor.board import new_board
from mentor_stream.supervisor.config import SupervisorConfig
from mentor_stream.supervisor.run import component_command, new_run
from mentor_stream.topics import TopicsConfig

CONFIG = """
[run]
name = "r"
directory = "{directory}"
broker = "sqlite:///{directory}/stream.db"
policy = "{directory}"
[supervisor]
rollout_workers = 2
[telemetry]
listen = "{listen}"
"""


@pytest.mark.parametrize(
    ("listen", "own"),
    [
        ("0.0.0.0:9464", [f"0.0.0.0:{port}" for port in range(9464, 9470)]),
        ("127.0.0.1:0", [None] * 6),
        ("off", [None] * 6),
    ],
)
def test_a_fixed_port_is_counted_up_so_that_no_two_want_the_same(
    tmp_path: Path, listen: str, own: list[str | None]
) -> None:
    path = tmp_path / "run.toml"
    path.write_text(CONFIG.format(directory=tmp_path, listen=listen))
    config = load(path, [SupervisorConfig, TelemetryConfig, TopicsConfig])
    run = new_run(config, new_board(config), component_command, held=0)
    in_turn = [run.feeder, *run.rollouts, run.evaluator, *run.mentors, run.trainer]
    assert [child.environment.get(LISTEN) for child in in_turn] == own

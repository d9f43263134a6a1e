"""What is drawn from the board."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from mentor_stream.supervisor.board import Board
from mentor_stream.supervisor.child import Child, State
from mentor_stream.supervisor.config import SupervisorConfig
from mentor_stream.supervisor.drain import Queues
from mentor_stream.supervisor.figures import Figures, observe
from mentor_stream.supervisor.view.picture import has_guide, line, picture
from mentor_stream.supervisor.view.rows import sparkline
from tests.supervisor.test_figures import a_metric, a_step

EMPTY = Figures(run="chain", batch_groups=32, max_tokens=400_000)


def a_board() -> Board:
    state = observe(EMPTY, a_metric("evaluator", version=0, heldout_accuracy=0.0))
    state = observe(state, a_metric("evaluator", version=40, heldout_accuracy=0.875))
    state = observe(
        state,
        a_step(
            42,
            loss=-0.0123,
            reward=0.61,
            zero_reward_fraction=0.25,
            rescue_rate=0.9,
            staleness_mean=1.2,
            staleness_max=3,
            generated_tokens=182_340,
            pending_groups=14,
        ),
    )
    state = observe(state, a_metric("rollout", time=99, tokens_per_second=2810, groups=321))
    return Board(state, started=40, queues=Queues(time=100, queries=22, guided=9, collapsed=31, written=99))


def drawn(board: Board, width: int, *children: Child) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(picture(board, children, 100, width))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_picture_shows_learning_queues_and_progress_at_any_width(width: int) -> None:
    shown = drawn(a_board(), width)
    for expected in (
        "0.000 → 0.875 (v40)", "182,340 of 400,000 tokens", "46%", "0.61", "0.25", "0.90", "-0.0123", "3 max",
        "31 (9 guided)", "14 of 32", "321 groups", "2,810 tokens/s",
    ):  # fmt: skip
        assert expected in shown
    assert "…" not in shown


TRAINED = {
    "step": 84, "grad_norm": 1.5, "ratio_mean": 1.0003, "clip_fraction": 0.031, "logprob_gap_mean": 0.0124,
    "logprob_gap_alarm": 0, "entropy": 1.234, "staleness_mean": 1.2, "staleness_max": 3, "stale_groups": 5,
    "step_seconds": 2.0, "wait_seconds": 0.5, "bad_steps": 0,
}  # fmt: skip


def training(*steps: dict[str, float]) -> str:
    """The picture after these steps."""
    state = EMPTY
    for version, values in enumerate(steps, start=1):
        state = observe(state, a_step(version, **values))
    return drawn(Board(state, started=40), 120)


def test_the_picture_shows_how_training_goes() -> None:
    shown = training(TRAINED)
    for expected in (
        "1, step 84", "1.500", "1.0003, 3.1% clipped", "0.012", "1.234", "1.2 mean, 3 max",
        "2.00 s + 0.50 s wait", "5 groups",
    ):  # fmt: skip
        assert expected in shown
    for absent in ("KL", "too wide", "not taken", "…"):
        assert absent not in shown


def test_what_a_user_must_look_at_is_beside_its_number() -> None:
    shown = training(TRAINED | {"bad_steps": 2}, TRAINED | {"bad_steps": 1}, TRAINED | {"kl": 0.0021})
    assert "1.500, 3 not taken" in shown
    assert "1.234, 0.0021 KL" in shown
    assert "too wide" not in shown
    assert "0.012, too wide" in training(TRAINED | {"logprob_gap_alarm": 1})


def test_a_sampler_whose_prompts_are_other_ones_has_no_gap() -> None:
    compared = {name: value for name, value in TRAINED.items() if "gap" not in name}
    assert "sampler gap  –" in training(compared)  # noqa: RUF001


def test_a_run_without_a_single_metric_can_be_drawn() -> None:
    assert "held-out accuracy" in drawn(Board(EMPTY, started=40), 80)
    assert "reward" not in line(EMPTY, None, 0).plain


def test_a_note_with_square_brackets_is_shown_as_it_is() -> None:
    board = a_board()
    board.note("trainer said [red]no[/red]")
    assert "[red]no[/red]" in drawn(board, 120)


def test_the_line_holds_what_a_log_needs() -> None:
    board = a_board()
    text = line(board.figures, board.queues, 100).plain
    for expected in (
        "version 42",
        "0.000 -> 0.875 (v40)",
        "reward 0.61",
        "for mentor 31",
        "sampled 321 groups  sampling 2,810 tokens/s",
        "182,340 of 400,000",
    ):
        assert expected in text
    assert "\n" not in text


def test_a_sparkline_spans_from_nothing_to_all_and_keeps_its_width() -> None:
    assert sparkline([0.0, 0.5, 1.0]) == "▁▅█"
    assert sparkline([-3.0, 7.0]) == "▁█"
    assert len(sparkline([0.5] * 1000, width=30)) == 30
    assert sparkline([]) == ""


def test_a_trainer_that_waits_and_an_endpoint_without_answers_are_shown_while_it_lasts() -> None:
    board = a_board()
    told = [
        a_metric("trainer", time=95, generated_tokens=190_000, pending_groups=3, waiting_seconds=130),
        a_metric("mentor", time=60, answered=0, down=1),
        a_metric("mentor", time=99, answered=0, down=9),
    ]
    for metric in told:
        board.figures = observe(board.figures, metric)
    shown, plain = drawn(board, 120), line(board.figures, board.queues, 100).plain
    for expected in (
        "2:10: trainer.log",
        "down 0:40: mentor.log",
        "190,000 of 400,000",
        "3 of 32",
    ):
        assert expected in shown
        assert expected in plain
    board.figures = observe(board.figures, a_metric("mentor", time=100, answered=1, down=9))
    assert "mentor.log" not in drawn(board, 120)


def test_no_cases_wait_for_a_mentor_whose_guide_teaches_nothing(child: Child) -> None:
    board = a_board()
    assert "for mentor" in drawn(board, 120, child)
    child.state = State.FINISHED
    assert "for mentor" not in drawn(board, 120, child)
    assert "for mentor" not in line(board.figures, board.queues, 100, mentored=has_guide([child])).plain


@pytest.fixture
def child(tmp_path: Path) -> Child:
    """A mentor."""
    return Child(
        name="mentor", command=["true", "mentor", "my.toml"], log=tmp_path / "log", environment={},
        inherited=0, config=SupervisorConfig(), note=print,
    )  # fmt: skip


def test_without_lessons_lately_the_rescue_rate_is_a_dash_and_else_of_the_last_lessons() -> None:
    counted = [{"guided_groups": 8.0 * n, "rescued_groups": 6.0 * n, "rescue_rate": 0.0} for n in range(1, 9)]
    assert "rescue rate         0.75" in training(*counted)
    assert "rescue rate         –" in training(*[{"guided_groups": 0.0, "rescued_groups": 0.0}] * 3)  # noqa: RUF001

"""What is drawn from the board."""

import io

import pytest
from rich.console import Console

from mentor_stream.supervisor.board import Board
from mentor_stream.supervisor.drain import Queues
from mentor_stream.supervisor.figures import Figures, observe
from mentor_stream.supervisor.view.picture import line, picture, sparkline
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


def drawn(board: Board, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(picture(board, (), 100, width))
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

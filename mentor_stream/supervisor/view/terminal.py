"""The board on a terminal: one live picture, or a plain line now and then."""

import sys
import termios
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import anyio
from rich.console import Console
from rich.live import Live

from mentor_stream.supervisor.board import Board
from mentor_stream.supervisor.child import Child
from mentor_stream.supervisor.config import SupervisorConfig
from mentor_stream.supervisor.view.picture import has_guide, line, note_line, picture

REFRESH_SECONDS = 0.5


async def show(board: Board, children: Sequence[Child], config: SupervisorConfig, console: Console) -> None:
    """Show board and components as configured until cancelled, and their last state then."""
    mode = config.view
    if mode == "auto":
        mode = "live" if console.is_terminal else "plain"
    if mode == "live":
        await _show_live(board, children, console)
    elif mode == "plain":
        await _show_plain(board, children, config.view_seconds, console)


async def _show_live(board: Board, children: Sequence[Child], console: Console) -> None:
    with _no_echo_of_control_keys(), Live(console=console, auto_refresh=False) as live:
        try:
            while True:
                live.update(picture(board, children, time.time(), console.width), refresh=True)
                await anyio.sleep(REFRESH_SECONDS)
        finally:
            live.update(picture(board, children, time.time(), console.width), refresh=True)


@contextmanager
def _no_echo_of_control_keys() -> Generator[None]:
    """Keep the terminal from writing ^C into the picture."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    quiet = [*before]
    quiet[3] &= ~termios.ECHOCTL
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


async def _show_plain(board: Board, children: Sequence[Child], seconds: float, console: Console) -> None:
    printed, next_line = 0, time.monotonic() + seconds
    try:
        while True:
            printed = _print_notes(board, printed, console)
            if time.monotonic() >= next_line:
                shown = line(board.figures, board.queues, time.time(), mentored=has_guide(children))
                console.print(shown, soft_wrap=True)
                next_line = time.monotonic() + seconds
            await anyio.sleep(REFRESH_SECONDS)
    finally:
        _print_notes(board, printed, console)


def _print_notes(board: Board, printed: int, console: Console) -> int:
    for note in board.notes:
        if note.number >= printed:
            console.print(note_line(note), soft_wrap=True)
    return board.noted

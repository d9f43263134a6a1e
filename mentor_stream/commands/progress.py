"""How far long work is: a bar each on a terminal, nothing elsewhere."""

from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def counting() -> Generator[Callable[[str, int, int], None]]:
    """Shows, by name, how many of how many are done."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TaskID, TimeRemainingColumn

    console, tasks = Console(stderr=True), dict[str, TaskID]()
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:

        def show(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total)
            bar.update(tasks[name], completed=done)

        yield show

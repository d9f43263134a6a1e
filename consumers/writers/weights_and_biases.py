"""Weights & Biases: one run of theirs for a run of ours, by its id, also after a restart.

Theirs takes points in a process of its own and says nothing of when they are durable: when this process is
killed, what it took since the last flush is there twice. Each point carries its `time`, which shows it.
The key comes from WANDB_API_KEY; WANDB_MODE=offline needs none and writes to the directory.
"""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from consumers.writers.base import Marks
from consumers.writers.points import Point
from mentor_stream.config import ConfigError, RunConfig

PROJECT = "mentor-stream"
STEP = "policy_version"


class Rows:
    """A Writer of rows of their history."""

    def __init__(self, run: Any) -> None:
        self._run = run

    def write(self, point: Point) -> None:
        """See Writer."""
        values = {f"{point.series}/{tag.partition('/')[2]}": value for tag, value in point.values.items()}
        self._run.log(values | {STEP: point.step, "time": point.time})

    def flush(self) -> Marks:
        """See Writer: their process has all of it."""
        return {}


@contextmanager
def opened(directory: Path, run: RunConfig, marks: Marks) -> Generator[Rows]:
    """See Opening."""
    import wandb
    from wandb.errors import Error, UsageError

    settings = wandb.Settings(
        console="off", silent=True, disable_git=True, save_code=False, x_disable_stats=True
    )
    try:
        theirs = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            id=re.sub(r"[^A-Za-z0-9_-]", "-", run.name),
            name=run.name,
            dir=directory,
            resume="allow",
            settings=settings,
        )
    except UsageError as error:
        raise ConfigError(
            f"wandb: {str(error).rstrip('.')}. Set WANDB_API_KEY in the environment, or WANDB_MODE=offline"
        ) from error
    except Error as error:
        raise ConfigError(
            f"wandb: {str(error).rstrip('.')}. WANDB_MODE=offline writes to the directory alone"
        ) from error
    try:
        theirs.define_metric(STEP)
        theirs.define_metric("*", step_metric=STEP)
        yield Rows(theirs)
    finally:
        theirs.finish()

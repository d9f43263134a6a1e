"""What `mentor-stream compare` does, as it finds it by entry point (mentor_stream/tools.py)."""

from pathlib import Path
from typing import Any

import anyio

from consumers.comparison import figures, page
from consumers.comparison.record import Recorded, recorded
from mentor_stream import broker as brokers
from mentor_stream.config import Config, ConfigError


def compare(first: tuple[Config, str], second: tuple[Config, str]) -> dict[str, Any]:
    """Two runs, each a config that names the broker and the run's name: what `--json` prints.

    Raises ConfigError when they have no case in common, BrokerError.
    """
    one, other = (anyio.run(_recorded, *run, backend="trio") for run in (first, second))
    pairs = figures.pairs(one, other)
    if not pairs:
        raise ConfigError(
            f"{one.name} has {len(one.cases)} cases and {other.name} {len(other.cases)}, and none in common: "
            "compare replays of one run, or runs on the same questions."
        )
    return {
        "runs": [
            figures.figures(one, (pair.first for pair in pairs)),
            figures.figures(other, (pair.second for pair in pairs)),
        ],
        "questions": [figures.row(one, other, pair) for pair in pairs],
    }


def write_page(document: dict[str, Any], path: Path) -> None:
    """The same as HTML."""
    path.write_text(page.page(document))


async def _recorded(config: Config, run: str) -> Recorded:
    async with brokers.connect(config.run.broker, create=False) as broker:
        return await recorded(broker, run)

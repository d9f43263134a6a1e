"""What `mentor-stream compare` does, as it finds it by entry point (mentor_stream/tools.py)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from consumers.comparison import figures, page, policy, record
from consumers.comparison.figures import Pair, with_samples
from consumers.comparison.policy import Policy
from consumers.comparison.record import Recorded
from mentor_stream import broker as brokers
from mentor_stream import disk
from mentor_stream.config import Config, ConfigError
from schemas import Hint, Query

__all__ = ["Comparison", "cases", "check_page", "chosen_policy", "compare", "with_samples", "write_page"]

Run = tuple[Config, str]
"""A config, which says where the broker is, and the name of a run there."""
Case = tuple[Query | None, tuple[Hint | None, ...]]
"""A question without a hint, and what either run's guide said to it."""


@dataclass(frozen=True)
class Comparison:
    """Two runs beside each other."""

    first: Recorded
    second: Recorded
    pairs: Sequence[Pair]

    def document(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "runs": [
                figures.figures(self.first, (pair.first for pair in self.pairs)),
                figures.figures(self.second, (pair.second for pair in self.pairs)),
            ],
            "questions": [figures.row(self.first, self.second, pair) for pair in self.pairs],
        }


def compare(first: Run, second: Run) -> Comparison:
    """What two runs have recorded. Raises ConfigError when they have no case in common, BrokerError."""
    one, other = (anyio.run(_recorded, *run, backend="trio") for run in (first, second))
    pairs = figures.pairs(one, other)
    if not pairs:
        lost = one.unreadable + other.unreadable
        unread = f" {lost:,} records could not be read: tail diagnoses shows why." if lost else ""
        raise ConfigError(
            f"{one.name} has {len(one.cases)} cases and {other.name} {len(other.cases)}, and none in common: "
            f"compare replays of one run, or runs on the same questions.{unread}"
        )
    return Comparison(one, other, pairs)


def cases(first: Run, second: Run, comparison: Comparison) -> list[Case]:
    """The questions of a comparison as they can be asked again, with both hints, in its order.

    None is a question that neither run's stream has any more. Raises BrokerError.
    """
    pairs = comparison.pairs
    ours = anyio.run(_questions, *first, {pair.first.group_id for pair in pairs}, backend="trio")
    wanted = {pair.second.group_id for pair in pairs if pair.first.group_id not in ours}
    theirs = anyio.run(_questions, *second, wanted, backend="trio")
    return [
        (
            ours.get(pair.first.group_id) or theirs.get(pair.second.group_id),
            (pair.first.hint, pair.second.hint),
        )
        for pair in pairs
    ]


def chosen_policy(run: Run, named: str | None, comparison: Comparison) -> Policy:
    """The model to try hints on. Raises ConfigError, BrokerError."""
    failed = [pair.first.policy_version for pair in comparison.pairs]
    return anyio.run(_chosen, *run, named, failed, backend="trio")


def check_page(path: Path) -> None:
    """Before anything is sampled: whether the page can be written. Raises ConfigError."""
    disk.check_file("--html", path)


def write_page(document: dict[str, Any], path: Path) -> None:
    """The same as HTML. Raises ConfigError where it cannot be written."""
    with disk.writing("--html", path):
        path.write_text(page.page(document), encoding="utf-8")


async def _recorded(config: Config, run: str) -> Recorded:
    async with brokers.connect(config.run.broker, create=False) as broker:
        return await record.recorded(broker, run, config.run.name)


async def _questions(config: Config, run: str, groups: set[str]) -> dict[str, Query]:
    async with brokers.connect(config.run.broker, create=False) as broker:
        return await record.questions(broker, run, config.run.name, groups)


async def _chosen(config: Config, run: str, named: str | None, failed: Sequence[int]) -> Policy:
    async with brokers.connect(config.run.broker, create=False) as broker:
        return await policy.chosen(broker, config, run, named, failed)

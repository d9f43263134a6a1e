"""Whether the verifier can judge against the references of question files: known before a run, not in it."""

from collections.abc import Sequence

import anyio

from mentor_stream import plugins, workers
from producers.datasets.base import Dataset
from producers.judging import judge
from producers.judging.judge import Judge, NoJudge, RewardConfig
from producers.rewards.base import REWARDS

PLACES = 10
"""Lines of one file that are named."""


def problems(datasets: Sequence[Dataset], reward: RewardConfig, limit: int) -> list[str]:
    """What is wrong with the verifier, else what with the first `limit` references of each file."""
    if found := plugins.check(REWARDS, reward.verifier, "reward.verifier"):
        return found
    try:
        return anyio.run(_unreadable, datasets, reward, limit, backend="trio")
    except NoJudge as error:
        return [str(error)]
    except workers.WorkerDied as error:
        return [f"reward.verifier is {reward.verifier!r}: {error}"]


async def _unreadable(datasets: Sequence[Dataset], reward: RewardConfig, limit: int) -> list[str]:
    async with judge.running(reward) as verifier:
        found = [await _problem(dataset, verifier, limit) for dataset in datasets]
    return [problem for problem in found if problem]


async def _problem(dataset: Dataset, verifier: Judge, limit: int) -> str | None:
    """One line for a file: a wrong column makes every reference unreadable."""
    bad: list[tuple[str, str]] = []
    for row in range(min(limit, len(dataset.rows))):
        reason = await verifier.unreadable(dataset.query(row, position=row, attempt=0))
        if reason is not None:
            bad.append((dataset.rows[row].place, reason))
    if not bad:
        return None
    place, reason = bad[0]
    return f"{dataset.path} {place}: {reason}{_others(bad[1:], limit)}. Set data.answer or reward.verifier."


def _others(bad: Sequence[tuple[str, str]], limit: int) -> str:
    """How many more there are, and where the first of them."""
    if not bad:
        return ""
    places = ", ".join(place for place, _ in bad[:PLACES])
    return f" (and {len(bad)} more of the first {limit}: {places}{', ...' if len(bad) > PLACES else ''})"

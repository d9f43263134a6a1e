"""The demo on two hosts, which share a broker and an object store and no directory."""

from pathlib import Path

import anyio
import pytest

from mentor_stream import topics
from mentor_stream.snapshots import cache
from tests.storage import Storage
from tests.streams import everything
from tests.system.demo import Demo, ended

VERSIONS = 8
"""Enough for a worker on a busy machine, which gets to some of them only, to sample with several."""

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def hosts(home: Path, storage: Storage) -> tuple[Demo, Demo]:
    """One config on two machines, each with a run directory of its own."""
    both = []
    for host in ("trains", "samples"):
        (home / host).mkdir()
        both.append(Demo(home / host, broker=f"sqlite:///{home}/stream.db", versions=VERSIONS))
    one, other = both
    text = one.config.read_text().replace("[run]\n", f'[run]\nsnapshots = "{storage.url}"\n')
    one.config.write_text(text)
    other.config.write_text(text.replace(str(one.directory), str(other.directory)))
    other.name = one.name
    return one, other


async def test_policies_get_from_the_host_that_trains_to_the_one_that_samples_through_the_store_alone(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = hosts(tmp_path, storage)
    with one, other, anyio.fail_after(300):
        monkeypatch.setenv(cache.ENVIRONMENT, str(other.directory / "cache"))
        evaluator = [other.start("rollout"), other.start("evaluate")][1]
        monkeypatch.setenv(cache.ENVIRONMENT, str(one.directory / "cache"))
        trainer = [one.start("feed"), one.start("mentor"), one.start("train")][2]
        assert await ended(trainer) == 0, (one.directory / "train.log").read_text()[-3000:]
        assert await ended(evaluator) == 0, (other.directory / "evaluate.log").read_text()[-3000:]
        async with one.stream() as stream:
            groups = [*await everything(stream, topics.GROUPS), *await everything(stream, topics.COLLAPSED)]
            releases = await everything(stream, topics.POLICIES)
            metrics = await everything(stream, topics.METRICS)
    sampled_with = {run.policy_version for g in groups for t in g.trajectories for run in t.policy}
    assert len(sampled_with) > 2
    assert sampled_with <= {release.policy_version for release in releases}
    assert all(release.uri.startswith(storage.url) for release in releases)
    evaluated = {metric.policy_version for metric in metrics if metric.component == "evaluator"}
    assert {0, VERSIONS} <= evaluated
    assert not (other.directory / "snapshots").exists()
    assert not (one.directory / "cache").exists(), "who trains fetches nothing"
    assert 0 < len(list((other.directory / "cache").iterdir())) <= cache.KEEP

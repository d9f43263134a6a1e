"""Which policy hints are tried on, where a user names none: the nearest to those that failed.

A policy that has learned since needs no hint for what it failed at then, so that good hints and bad ones, and
none at all, look alike on it.
"""

from collections.abc import Collection, Mapping, Sequence
from statistics import median_low
from typing import NamedTuple

from consumers import following
from mentor_stream import snapshots, topics
from mentor_stream.broker import Broker
from mentor_stream.config import Config, ConfigError
from mentor_stream.snapshots import SnapshotError
from schemas import PolicyRelease

NEWEST = "newest"
Releases = Mapping[int, PolicyRelease]
"""By version, in the order in which they were published."""


class Policy(NamedTuple):
    """A model, and why it is this one."""

    model: str
    """A Hugging Face directory, or a snapshot's place."""
    release: PolicyRelease | None
    why: str


async def chosen(
    broker: Broker, config: Config, run: str, named: str | None, failed: Sequence[int]
) -> Policy:
    """The model that `--model` names; without it the nearest to the policies, by version, that `failed`.

    A replay releases nothing: then those of the config's run count. Raises ConfigError, UnknownTopic.
    """
    if named not in (None, NEWEST):
        return Policy(named, None, "--model")
    name, releases = await _releases(broker, dict.fromkeys((run, config.run.name)))
    if named == NEWEST:
        if not releases:
            raise ConfigError(
                f"--model is {NEWEST!r}, but {config.run.name} has released no policy. Leave it out for "
                "run.policy, or name a model's directory."
            )
        newest = list(releases.values())[-1]
        return Policy(newest.uri, newest, f"policy {newest.policy_version}, the newest release of {name}")
    began = config.run.policy
    found = nearest(median_low(failed), _there(releases), began=began.is_dir() or not releases)
    middle = f"policy {median_low(failed)}, the median of those that failed"
    if found is None:
        return Policy(str(began), None, f"run.policy, of what is there the nearest to {middle}")
    return Policy(
        found.uri, found, f"policy {found.policy_version} of {name}, of what is there the nearest to {middle}"
    )


def nearest(version: int, releases: Collection[PolicyRelease], *, began: bool) -> PolicyRelease | None:
    """The release next to a version, the earlier of two; None is what the run `began` with, as version 0."""
    ways = [(abs(one.policy_version - version), one.policy_version, one) for one in releases]
    best = min(ways, key=lambda way: way[:2], default=None)
    return None if best is None or (began and version <= best[0]) else best[2]


def _there(releases: Releases) -> list[PolicyRelease]:
    try:
        kept = snapshots.present(one.uri for one in releases.values())
    except SnapshotError as error:
        raise ConfigError(f"{error}. Give --model a model's directory.") from error
    return [one for one in releases.values() if one.uri in kept]


async def _releases(broker: Broker, runs: Collection[str]) -> tuple[str, Releases]:
    """The first of these runs that has released any, and what; the last word on each version counts."""
    known = await broker.topics()
    for run in runs:
        found: dict[int, PolicyRelease] = {}
        if topics.POLICIES.of(run) in known:
            start = await following.since(broker, run, (topics.POLICIES,), 0.0)
            async for event in following.events(broker, run, (topics.POLICIES,), start, follow=False):
                if isinstance(release := event.record, PolicyRelease):
                    found.pop(release.policy_version, None)
                    found[release.policy_version] = release
        if found:
            return run, found
    return "", {}

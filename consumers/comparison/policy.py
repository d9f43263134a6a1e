"""Which policy hints are tried on, where a user names none: the newest that the run has released."""

from typing import NamedTuple

from consumers import following
from mentor_stream import topics
from mentor_stream.broker import Broker
from mentor_stream.config import Config, ConfigError
from schemas import PolicyRelease

NEWEST = "newest"


class Policy(NamedTuple):
    """A model, and why it is this one."""

    model: str
    """A Hugging Face directory, or a snapshot's place."""
    release: PolicyRelease | None
    why: str


async def chosen(broker: Broker, config: Config, run: str, named: str | None) -> Policy:
    """The model that `--model` names; without it the newest release, or else where the run began.

    A replay releases nothing: then the run of the config is asked. Raises ConfigError, UnknownTopic.
    """
    if named not in (None, NEWEST):
        return Policy(named, None, "--model")
    for name in dict.fromkeys((run, config.run.name)):
        if release := await _newest(broker, name):
            why = f"policy {release.policy_version}, the newest release of {name}"
            return Policy(release.uri, release, why)
    if named == NEWEST:
        raise ConfigError(
            f"--model is {NEWEST!r}, but {config.run.name} has released no policy. Leave it out for "
            "run.policy, or name a model's directory."
        )
    return Policy(str(config.run.policy), None, f"run.policy, since {config.run.name} has released none")


async def _newest(broker: Broker, run: str) -> PolicyRelease | None:
    """The release published last. What cannot be read is passed over."""
    if topics.POLICIES.of(run) not in await broker.topics():
        return None
    start, found = await following.since(broker, run, (topics.POLICIES,), 0.0), None
    async for event in following.events(broker, run, (topics.POLICIES,), start, follow=False):
        found = event.record if isinstance(event.record, PolicyRelease) else found
    return found

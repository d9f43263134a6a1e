"""What `mentor-stream replay` does, as it finds it by entry point (mentor_stream/tools.py)."""

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from consumers import spending
from consumers.budget import budget
from consumers.chat.kept import Replies
from consumers.config import GUIDES, MentorConfig
from consumers.guides.base import Guide
from consumers.leak.guard import guarding
from consumers.replay import cases
from consumers.replay.account import account
from consumers.replay.cases import Cases, Range
from consumers.replay.replaying import Replaying
from consumers.teaching import Teacher
from mentor_stream import broker as brokers
from mentor_stream import plugins, stream, topics
from mentor_stream.broker import Broker
from mentor_stream.config import RUN_NAME, Config, ConfigError
from mentor_stream.stream import Stream
from mentor_stream.topics import TopicsConfig
from schemas import Group

Progress = Callable[[int, int], None]
"""Told how many of how many cases are dealt with."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is replayed, and where to."""

    recorded: Config
    """The run whose failures they are: its stream, its prompts, its policy's lengths."""
    mentor: Config
    """Whose [mentor] teaches."""
    to: str
    """The name of the run that lessons and diagnoses go to, on the same broker."""
    since: float | None
    until: float | None
    offsets: str | None
    cache: Path | None
    """Where replies are kept."""
    concurrency: int | None


def replay(progress: Progress, **request: Any) -> dict[str, Any]:
    """Replay, and return what `--json` prints. Raises ConfigError, BrokerError."""
    return anyio.run(_replay, Request(**request), progress, backend="trio")


async def _replay(request: Request, progress: Progress) -> dict[str, Any]:
    run, section = request.recorded.run, request.mentor.of(MentorConfig)
    if not re.fullmatch(RUN_NAME, request.to):
        raise ConfigError(f"--to is {request.to!r}: expected letters, digits, dots, dashes and underscores.")
    if request.to == run.name:
        raise ConfigError(f"--to is {request.to!r}: that is the recorded run itself. Give another name.")
    guide: Guide | None = plugins.build(GUIDES, section.guide, "mentor.guide")
    if guide is None:
        raise ConfigError(f"mentor.guide.kind is {section.guide['kind']!r}: it teaches nothing to replay.")
    replies = Replies(request.cache) if request.cache else None
    settings = request.recorded.of(TopicsConfig)
    async with (
        brokers.connect(run.broker, create=False) as broker,
        guarding(section.leak_guard) as guard,
    ):
        wanted = await _range(request, broker)
        async with stream.connect(run.broker, request.to, "replay", settings) as own:
            await spending.resume(own, guide)
            recorded = Cases(broker, run.name, wanted)
            replaying = Replaying(
                Teacher(guide, guard, budget(request.recorded)),
                own,
                replies,
                concurrency=request.concurrency or section.concurrency,
                max_rounds=section.max_rounds,
            )
            await _work(replaying, recorded, await _known(own), progress)
            document = await account(own)
    return document | {
        "run": request.to,
        "guide": guide.name,
        "unreadable": recorded.unreadable,
        "repeated": recorded.repeated,
        "replies": None if replies is None else {"kept": replies.found, "asked": replies.asked},
    }


async def _work(replaying: Replaying, recorded: Cases, known: set[str], progress: Progress) -> None:
    done = 0

    def ended() -> None:
        nonlocal done
        done += 1
        progress(done, recorded.count)

    async with aclosing(recorded.read()) as groups, aclosing(_others(groups, known, ended)) as others:
        await replaying.run(others, ended)


async def _others(
    groups: AsyncGenerator[Group], known: set[str], ended: Callable[[], None]
) -> AsyncGenerator[Group]:
    """Those that have no diagnosis yet: a replay that was stopped goes on."""
    async for group in groups:
        if group.group_id in known:
            ended()
        else:
            yield group


async def _known(own: Stream) -> set[str]:
    async with own.reader(topics.DIAGNOSES, start="earliest", follow=False, on_gap="earliest") as found:
        return {delivery.record.group_id async for delivery in found}


async def _range(request: Request, broker: Broker) -> Range:
    run = request.recorded.run.name
    if request.offsets is not None:
        return await cases.at(broker, run, request.offsets)
    return await cases.between(broker, run, request.since, request.until)

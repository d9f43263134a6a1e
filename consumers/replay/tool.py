"""What `mentor-stream replay` does, as it finds it by entry point (mentor_stream/tools.py)."""

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
from consumers.replay import cases, nothing
from consumers.replay.account import account
from consumers.replay.cases import Cases, Range
from consumers.replay.replaying import Replaying
from consumers.teaching import Teacher
from mentor_stream import broker as brokers
from mentor_stream import disk, plugins, stream, topics
from mentor_stream.broker import Broker
from mentor_stream.component import load_sections
from mentor_stream.config import Config, ConfigError, check_run_name
from mentor_stream.stream import Stream
from mentor_stream.topics import TopicsConfig
from schemas import Group

Progress = Callable[[int, int], None]
"""Told how many of how many cases are dealt with."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is replayed, and where to."""

    recorded: Config
    """Whose stream, prompts and lengths of the policy they are."""
    run: str
    """The name of the run whose failures they are, on its broker."""
    guide: Path | None
    """The file whose [mentor] teaches, instead of the recorded run's."""
    to: str
    """The name of the run that lessons and diagnoses go to, on the same broker."""
    since: float | None
    until: float | None
    offsets: str | None
    cache: Path | None
    """Where replies are kept."""
    concurrency: int | None


def replay(progress: Progress, **request: Any) -> dict[str, Any]:
    """Replay, and return what `--json` prints, a `problem` where no case is in the range.

    Raises ConfigError, BrokerError.
    """
    return anyio.run(_replay, Request(**request), progress, backend="trio")


async def _replay(request: Request, progress: Progress) -> dict[str, Any]:
    url, section = request.recorded.run.broker, _section(request)
    check_run_name("--to", request.to)
    if request.to in (request.run, request.recorded.run.name):
        raise ConfigError(f"--to is {request.to!r}: that is the recorded run itself. Give another name.")
    guide: Guide | None = plugins.build(GUIDES, section.guide, "mentor.guide")
    if guide is None:
        raise ConfigError(f"mentor.guide.kind is {section.guide['kind']!r}: it teaches nothing to replay.")
    if request.cache:
        disk.check_folder("--cache", request.cache)
    replies = Replies(request.cache) if request.cache else None
    settings = request.recorded.of(TopicsConfig)
    async with (
        brokers.connect(url, create=False) as broker,
        guarding(section.leak_guard) as guard,
    ):
        recorded = Cases(broker, request.run, await _range(request, broker))
        if not recorded.count:
            held = await nothing.held(broker, topics.COLLAPSED.of(request.run))
            return nothing.document(request.run, _said(request), held)
        await _refuse_a_run_at_work(broker, request.to)
        async with stream.connect(url, request.to, "replay", settings) as own:
            await spending.resume(own, guide)
            replaying = Replaying(
                Teacher(guide, guard, budget(request.recorded)),
                own,
                replies,
                concurrency=request.concurrency or section.concurrency,
                max_rounds=section.max_rounds,
            )
            await _work(replaying, recorded, await _known(own), progress)
            document = await account(own)
    lost = recorded.unreadable == recorded.count
    return document | {
        "problem": nothing.UNREADABLE.format(records=recorded.count) if lost else None,
        "matched": recorded.count,
        "run": request.to,
        "guide": guide.name,
        "unreadable": recorded.unreadable,
        "repeated": recorded.repeated,
        "replies": None if replies is None else {"kept": replies.found, "asked": replies.asked},
    }


def _section(request: Request) -> MentorConfig:
    teaches = load_sections(request.guide, MentorConfig) if request.guide else request.recorded
    return teaches.of(MentorConfig)


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
    if request.offsets is not None:
        return await cases.at(broker, request.run, request.offsets)
    return await cases.between(broker, request.run, request.since, request.until)


def _said(request: Request) -> str:
    """The range as it was given."""
    return f"--offsets {request.offsets}" if request.offsets else "--since and --until"


async def _refuse_a_run_at_work(broker: Broker, run: str) -> None:
    """Lessons there would be sampled. Raises ConfigError."""
    there = await broker.topics()
    for topic in (topics.QUERIES, topics.POLICIES):
        if (name := topic.of(run)) in there and any(b.next for b in (await broker.bounds(name)).values()):
            raise ConfigError(
                f"--to is {run!r}: that is a run of its own, which has {topic.name}. Give another name."
            )

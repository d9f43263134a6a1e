"""A guide's spending over the run, across the processes that spend it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from consumers import spending
from consumers.guides.base import Guide
from mentor_stream import plugins, topics
from mentor_stream.stream import Stream, connect
from schemas import AgentCall, Diagnosis, Outcome
from tests.consumers.scripted import ScriptedAgents, a_case, a_guide
from tests.endpoint import Endpoint

pytestmark = pytest.mark.anyio


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        yield server


@pytest.fixture
async def stream(tmp_path: Path) -> AsyncIterator[Stream]:
    async with connect(f"sqlite:///{tmp_path}/stream.db", "test", "test") as stream:
        yield stream


def asking(kind: str, endpoint: Endpoint, **options: Any) -> Guide:
    asked = {"base_url": endpoint.url, "model": "m", **options}
    table = (
        {"kind": "fdcg", "agents": {"kind": "llm", **asked}} if kind == "fdcg" else {"kind": kind, **asked}
    )
    return plugins.build("consumers.guides", table, "mentor.guide")


async def spent(stream: Stream, guide: str, tokens: int) -> None:
    call = AgentCall(agent="judgment", draft=0, refinement=0, result="", prompt_tokens=tokens)
    record = Diagnosis(
        group_id=f"{guide}-{tokens}", query_id="q", guide=guide, round=1, outcome=Outcome.SILENT, reason="",
        calls=(call,), prompt_tokens=tokens, policy_version=0,
    )  # fmt: skip
    await stream.publish(topics.DIAGNOSES, record)


@pytest.mark.parametrize("kind", ["fdcg", "critique"])
async def test_a_restarted_mentor_goes_on_from_what_the_run_has_spent_on_its_guide(
    stream: Stream, endpoint: Endpoint, kind: str
) -> None:
    await spent(stream, kind, 60_000)
    await spent(stream, kind, 35_000)
    guide = asking(kind, endpoint, tokens_per_run=96_000)
    await spending.resume(stream, guide)
    lesson = await guide.teach(a_case())
    assert "tokens_per_run is 96000: 95000 tokens are spent" in lesson.reason
    assert not endpoint.requests


@pytest.mark.parametrize("kind", ["fdcg", "critique"])
async def test_what_another_guide_spent_is_its_own(stream: Stream, endpoint: Endpoint, kind: str) -> None:
    await spent(stream, "another", 95_000)
    guide = asking(kind, endpoint, tokens_per_run=96_000)
    await spending.resume(stream, guide)
    assert (await guide.teach(a_case())).hint
    assert endpoint.requests


async def test_a_guide_without_a_bound_is_told_nothing(stream: Stream, endpoint: Endpoint) -> None:
    await spent(stream, "fdcg", 10**9)
    guide = asking("fdcg", endpoint)
    await spending.resume(stream, guide)
    assert (await guide.teach(a_case())).outcome is Outcome.HINT


async def test_agents_that_spend_nothing_need_not_offer_to_be_bounded(stream: Stream) -> None:
    guide = a_guide(ScriptedAgents())
    assert not guide.bounded
    await spending.resume(stream, guide)
    assert (await guide.teach(a_case())).outcome is Outcome.HINT

"""Agents at an endpoint, and cases to ask them about."""

from typing import Any

from msgspec.structs import replace

from consumers.guides.base import Case
from consumers.guides.fdcg.agents import llm
from tests.builders import a_group, a_query, a_trajectory
from tests.endpoint import Endpoint


def agents_of(endpoint: Endpoint, **options: Any) -> llm.LlmAgents:
    defaults = {"model": "scripted", "first_pause_seconds": 0.01, "timeout_seconds": 5.0}
    return llm.build(llm.Config(base_url=endpoint.url, **(defaults | options)))


def a_case_of(*texts: str, question: str = "What is 2 + 3?") -> Case:
    group = a_group("W", query=replace(a_query(question), solution="Add them."))
    return Case(
        replace(group, trajectories=tuple(a_trajectory(text=t) for t in texts)), 1, (), lambda _: True
    )

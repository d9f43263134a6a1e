"""Each agent asks once, as its own table says, and reads its reply."""

import json
import time
from functools import partial

import anyio
import pytest

from consumers.guides.fdcg.agents.base import AgentError, Flaw
from tests.consumers.llm_agents.asking import a_case_of, agents_of
from tests.consumers.scripted import a_case
from tests.endpoint import HINT, Endpoint, agent_of, ranking, verdict

pytestmark = pytest.mark.anyio


async def test_each_agent_asks_once_and_reads_its_reply(endpoint: Endpoint) -> None:
    agents, case = agents_of(endpoint), a_case()
    found = await agents.attribute(case)
    assert (found.root_cause, found.errors, found.keywords) == (
        "The carry is forgotten.",
        ("no carry",),
        ("carry",),
    )
    assert (found.usage.model, found.usage.prompt_tokens, found.usage.completion_tokens) == (
        "scripted",
        100,
        10,
    )
    assert (await agents.generate(case, found, ["old"])).text == HINT
    assert (await agents.judge(case, HINT)).flaw is None
    assert (await agents.repair(case, HINT, "vague")).text == "Look at the units digit of each step."
    assert len(endpoint.requests) == 4


async def test_a_critique_comes_back_as_its_flaw(endpoint: Endpoint) -> None:
    endpoint.answers["judgment"] = [verdict("Leak.", "It says 5.")]
    judgment = await agents_of(endpoint).judge(a_case(), "It is 5.")
    assert (judgment.flaw, judgment.critique) == (Flaw.LEAK, "It says 5.")


async def test_drafts_come_back_in_order_the_best_first(endpoint: Endpoint) -> None:
    agents, case = agents_of(endpoint), a_case_of("It is 41.")
    for said, order in {
        ranking(3, 1, 2): (2, 0, 1),
        ranking(2): (1, 0, 2),
        ranking(9, 0, 3, 3): (2, 0, 1),
        '{"order": ["draft-2", "3", 1]}': (1, 2, 0),
        '{"order": []}': (0, 1, 2),
    }.items():
        endpoint.answers["ranking"] = [said]
        ranked = await agents.rank(case, ["one", "two", "three"])
        assert (ranked.order, ranked.usage.prompt_tokens) == (order, 100)
    endpoint.answers["ranking"] = ["the second"]
    with pytest.raises(AgentError, match="no JSON object"):
        await agents.rank(case, ["one", "two"])


async def test_each_agent_says_what_it_wants_as_a_strict_schema(endpoint: Endpoint) -> None:
    agents, case = agents_of(endpoint), a_case()
    await agents.attribute(case)
    await agents.generate(case, None, ())
    await agents.judge(case, HINT)
    await agents.repair(case, HINT, "vague")
    await agents.rank(case, ["a", "b"])
    for request in endpoint.requests:
        described = request["response_format"]["json_schema"]
        assert described["strict"] is True
        schema = described["schema"]
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
        answer = endpoint.answers[agent_of(request)][0]
        assert isinstance(answer, str)
        assert set(json.loads(answer)) == set(schema["properties"])


async def test_each_agent_is_asked_as_its_own_table_says(endpoint: Endpoint) -> None:
    with Endpoint() as other:
        agents = agents_of(
            endpoint,
            temperature=0.5,
            generation={"temperature": 1.0},
            judgment={"model": "strict", "max_tokens": 99, "output_price": 1.0},
            repair={"base_url": other.url},
        )
        case = a_case()
        found = await agents.attribute(case)
        await agents.generate(case, found, ())
        judgment = await agents.judge(case, HINT)
        await agents.rank(case, ["a", "b"])
        await agents.repair(case, HINT, "vague")
    sent = {agent_of(r): (r["model"], r["temperature"], r["max_tokens"]) for r in endpoint.requests}
    assert sent == {
        "attribution": ("scripted", 0.5, 2048),
        "generation": ("scripted", 1.0, 2048),
        "judgment": ("strict", 0.5, 99),
        "ranking": ("strict", 0.5, 99),
    }
    assert [agent_of(request) for request in other.requests] == ["repair"]
    assert (judgment.usage.model, judgment.usage.cost) == ("strict", pytest.approx(10e-6))


async def test_agents_share_bounds_and_allowance() -> None:
    with Endpoint(latency=0.05) as endpoint:
        agents = agents_of(endpoint, max_in_flight=2, judgment={"model": "strict"}, tokens_per_run=8000)
        async with anyio.create_task_group() as tasks:
            for ask in (agents.attribute, partial(agents.judge, draft=HINT)):
                tasks.start_soon(ask, a_case())
                tasks.start_soon(ask, a_case())
        assert endpoint.most_in_flight == 2
        agents.spent_before(7000)
        with pytest.raises(AgentError, match="tokens_per_run is 8000: 7440 tokens are spent"):
            await agents.attribute(a_case())


async def test_many_requests_are_in_flight_at_once() -> None:
    with Endpoint(latency=0.5) as endpoint:
        agents, began = agents_of(endpoint, timeout_seconds=60), time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for _ in range(64):
                tasks.start_soon(agents.attribute, a_case())
    assert endpoint.most_in_flight > 32
    assert time.perf_counter() - began < 64 * 0.5 / 2

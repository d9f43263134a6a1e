"""An endpoint that fails, hangs, refuses or talks nonsense: outlived if it passes, else an agent's error."""

import anyio
import pytest

from consumers.guides import fdcg
from consumers.guides.fdcg.agents.base import AgentError
from schemas import Outcome
from tests.consumers.llm_agents.asking import agents_of
from tests.consumers.scripted import a_case
from tests.endpoint import HINT, Endpoint, Trouble, hint

pytestmark = pytest.mark.anyio


SECRET = "sk-do-not-tell"


@pytest.mark.parametrize(
    "trouble",
    [
        Trouble.SERVER_ERROR,
        Trouble.RATE_LIMIT,
        Trouble.HTML,
        Trouble.NO_CHOICES,
        Trouble.EMPTY_TEXT,
        Trouble.TRUNCATED_BODY,
        Trouble.HANG_UP,
        Trouble.SURROGATE,
        '{"hint": "cut o',
        "I am sorry, but as a language model I cannot do that.",
        "答えは五です。",
    ],
    ids=str,
)
async def test_passing_trouble_is_outlived_and_lasting_trouble_is_an_agent_error(
    endpoint: Endpoint, trouble: str | Trouble
) -> None:
    endpoint.answers["generation"] = [trouble, trouble, hint()]
    assert (await agents_of(endpoint).generate(a_case(), None, ())).text == HINT
    assert len(endpoint.requests) == 3
    endpoint.answers["generation"] = [trouble]
    with pytest.raises(AgentError, match="4 requests"):
        await agents_of(endpoint).generate(a_case(), None, ())
    assert len(endpoint.requests) == 7


async def test_a_slow_reply_is_given_up_and_asked_for_again(endpoint: Endpoint) -> None:
    endpoint.answers["generation"] = [Trouble.SLOW, hint()]
    agents = agents_of(endpoint, timeout_seconds=0.5)
    with anyio.fail_after(10):
        assert (await agents.generate(a_case(), None, ())).text == HINT


async def test_a_refused_request_is_not_repeated_and_no_key_is_told(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TEST_KEY", SECRET)
    endpoint.answers["generation"] = [Trouble.UNAUTHORIZED]
    with caplog.at_level(0), pytest.raises(AgentError) as failure:
        await agents_of(endpoint, api_key_env="TEST_KEY").generate(a_case(), None, ())
    assert len(endpoint.requests) == 1
    assert f"Bearer {SECRET}" in endpoint.headers[0]
    assert SECRET not in str(failure.value) + caplog.text
    assert "401" in str(failure.value)


async def test_an_endpoint_that_is_not_there_is_an_agent_error() -> None:
    with Endpoint() as gone:
        pass
    with anyio.fail_after(20), pytest.raises(AgentError, match="cannot be reached"):
        await agents_of(gone).attribute(a_case())


async def test_usage_that_is_no_number_counts_as_nothing(endpoint: Endpoint) -> None:
    endpoint.answers["generation"] = [Trouble.NAN_USAGE]
    draft = await agents_of(endpoint).generate(a_case(), None, ())
    assert (draft.text, draft.usage.prompt_tokens, draft.usage.completion_tokens) == (HINT, 0, 0)


async def test_the_cost_of_unreadable_replies_is_kept(endpoint: Endpoint) -> None:
    endpoint.answers["generation"] = ["no json"]
    with pytest.raises(AgentError) as failure:
        await agents_of(endpoint).generate(a_case(), None, ())
    assert failure.value.usage.prompt_tokens == 400


async def test_the_pipeline_ends_in_the_fallback_when_the_endpoint_talks_nonsense(endpoint: Endpoint) -> None:
    for agent in endpoint.answers:
        endpoint.answers[agent] = ["Lovely weather today."]
    table = {"model": "m", "base_url": endpoint.url, "kind": "llm", "first_pause_seconds": 0, "attempts": 2}
    lesson = await fdcg.build(fdcg.Config(agents=table)).teach(a_case())
    assert (lesson.outcome, lesson.hint) == (Outcome.FALLBACK, fdcg.SAFE_HINT)
    assert "attribution failed: no JSON object" in lesson.reason

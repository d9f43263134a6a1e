"""Asking real HTTP servers that behave and misbehave, one or several."""

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from consumers.chat import Allowance, Chat, ChatError, Endpoint, Servers, UnreadableReply, Usage
from consumers.chat.circuit import Health
from mentor_stream.metrics.catalogue.mentor import REQUEST_SECONDS, REQUESTS
from mentor_stream.metrics.readings import OWN
from tests.endpoint import Answer, Reply, Status, Trouble
from tests.endpoint import Endpoint as Scripted

pytestmark = pytest.mark.anyio

SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


@pytest.fixture
def one() -> Iterator[Scripted]:
    with Scripted() as server:
        yield server


@pytest.fixture
def two() -> Iterator[Scripted]:
    with Scripted() as server:
        server.answers["other"] = ["two"]
        yield server


def settings(first: Scripted, *standby: Scripted, **options: Any) -> Endpoint:
    defaults = {"model": "m", "first_pause_seconds": 0.01, "timeout_seconds": 5.0}
    others = [{"base_url": server.url, "model": "n"} for server in standby]
    return Endpoint(base_url=first.url, standby=others, **(defaults | options))


def a_chat(first: Scripted, *standby: Scripted, **options: Any) -> Chat:
    return Chat(settings(first, *standby, **options))


async def ask(chat: Chat, user: str = "?", **more: Any) -> tuple[str, Usage]:
    with anyio.fail_after(30):
        return await chat.ask("You are asked.", user, str.strip, **more)


def yes_or_no(reply: str) -> str:
    if reply not in ("yes", "no"):
        raise UnreadableReply(f"{reply!r} is neither yes nor no")
    return reply


def refusing(message: str, *, when: str, status: int = 400) -> Answer:
    """A server that refuses every request in which `when` stands."""
    return lambda request: Status(status, message) if when in json.dumps(request) else "yes"


async def test_an_answer_comes_with_what_it_cost(one: Scripted) -> None:
    chat = a_chat(one, input_price=2.0, output_price=10.0)
    said, usage = await ask(chat)
    assert said == "yes"
    assert usage == Usage("m", 100, 10, pytest.approx(100 * 2e-6 + 10 * 10e-6))


async def test_replies_that_cannot_be_used_are_paid_for_too(one: Scripted) -> None:
    one.answers["other"] = ["perhaps", Reply(None), "yes"]
    _, usage = await a_chat(one, input_price=1.0).ask("s", "u", yes_or_no)
    assert (usage.prompt_tokens, usage.completion_tokens) == (300, 30)
    assert usage.cost == pytest.approx(300e-6)


async def test_a_failing_endpoint_hands_over_to_the_next_at_once(one: Scripted, two: Scripted) -> None:
    for trouble in (
        Trouble.SERVER_ERROR,
        Trouble.RATE_LIMIT,
        Trouble.UNAUTHORIZED,
        Trouble.HANG_UP,
        Trouble.HTML,
        Status(404, "no such model"),
    ):
        one.answers["other"] = [trouble]
        said, usage = await ask(a_chat(one, two, first_pause_seconds=1000))
        assert (said, usage.model) == ("two", "n")
    assert len(one.requests) == len(two.requests) == 6
    assert {request["model"] for request in two.requests} == {"n"}


async def test_requests_are_counted_by_how_they_ended_and_answers_timed(one: Scripted, two: Scripted) -> None:
    before, timed = OWN.values(REQUESTS), sum(OWN.distributions(REQUEST_SECONDS)[()].counts)
    one.answers["other"] = [Trouble.SERVER_ERROR, Trouble.UNAUTHORIZED, "yes"]
    chat = a_chat(one, two, first_pause_seconds=0.01)
    for _ in range(2):
        await ask(chat)
    one.answers["other"] = [Status(400, "too long")]
    with pytest.raises(ChatError):
        await ask(a_chat(one))
    found = {labels[0]: OWN.values(REQUESTS)[labels] - count for labels, count in before.items()}
    assert found == {"answered": 2, "down": 1, "closed": 1, "request": 1}
    assert sum(OWN.distributions(REQUEST_SECONDS)[()].counts) == timed + 2


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (Trouble.HUGE, "the response is longer than 4194304 bytes"),
        (Trouble.HUGE_ERROR, "the response is longer than 4194304 bytes"),
        (Trouble.COMPRESSED, "the response is compressed ('gzip'), which was not asked for"),
        (Trouble.NESTED, "the response is no JSON (RecursionError)"),
    ],
)
async def test_a_response_that_would_fill_memory_or_stack_is_given_up(
    one: Scripted, two: Scripted, trouble: Trouble, said: str
) -> None:
    one.answers["other"] = [trouble]
    assert (await ask(a_chat(one, two)))[0] == "two"
    with pytest.raises(ChatError, match=re.escape(said)):
        await ask(a_chat(one, attempts=1))


async def test_an_endpoint_that_hangs_hands_over_after_its_time(one: Scripted, two: Scripted) -> None:
    one.answers["other"] = [Trouble.SLOW]
    assert (await ask(a_chat(one, two, timeout_seconds=0.3)))[0] == "two"


async def test_an_endpoint_that_keeps_failing_rests_and_is_not_asked(one: Scripted, two: Scripted) -> None:
    one.answers["other"] = [Trouble.SERVER_ERROR]
    chat = a_chat(one, two, first_pause_seconds=1000)
    for _ in range(10):
        await ask(chat)
    assert (len(one.requests), len(two.requests)) == (3, 10)


async def test_an_endpoint_that_recovered_is_preferred_again(one: Scripted, two: Scripted) -> None:
    one.answers["other"] = [*[Trouble.SERVER_ERROR] * 3, "one"]
    chat = a_chat(one, two, first_pause_seconds=0.2)
    said = [(await ask(chat))[0] for _ in range(3)]
    assert said == ["two"] * 3
    with anyio.fail_after(10):
        while (await ask(chat))[0] != "one":
            await anyio.sleep(0.02)
    assert (await ask(chat))[0] == "one"


async def test_a_trial_that_is_given_up_is_followed_by_another(one: Scripted, two: Scripted) -> None:
    one.answers["other"] = [*[Trouble.SERVER_ERROR] * 3, Trouble.SLOW, "one"]
    chat = a_chat(one, two, first_pause_seconds=0.01)
    with anyio.fail_after(10):
        while len(one.requests) < 4:
            with anyio.move_on_after(0.3):
                await ask(chat)
        while (await ask(chat))[0] != "one":
            await anyio.sleep(0.01)


async def test_those_who_wait_for_their_turn_do_not_ask_what_began_to_rest_meanwhile(one: Scripted) -> None:
    one.answers["other"] = [Trouble.SERVER_ERROR]
    chat, said = a_chat(one, first_pause_seconds=1000, max_in_flight=1, attempts=1), list[str]()

    async def fail() -> None:
        with pytest.raises(ChatError) as error:
            await ask(chat)
        said.append(str(error.value))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(fail)
    assert len(one.requests) == 3
    assert sum("fails and rests: status 500 (0 requests)" in reason for reason in said) == 17


async def test_a_long_pause_asked_for_is_kept_while_another_answers(one: Scripted, two: Scripted) -> None:
    one.answers["other"] = [Status(429, "daily quota", {"retry-after": "600"}), "one"]
    chat = a_chat(one, two)
    assert [(await ask(chat))[0] for _ in range(3)] == ["two"] * 3
    assert len(one.requests) == 1


async def test_with_nobody_else_to_ask_a_long_pause_is_an_error_at_once(one: Scripted) -> None:
    one.answers["other"] = [Status(429, "daily quota", {"retry-after": "600"}), "one"]
    with pytest.raises(ChatError, match=r"rests for \d+ s \(1 requests\)"):
        await ask(a_chat(one))


async def test_when_all_rest_the_soonest_is_waited_for(one: Scripted, two: Scripted) -> None:
    one.answers["other"] = [Trouble.SERVER_ERROR]
    two.answers["other"] = [*[Trouble.SERVER_ERROR] * 6, "two"]
    chat = a_chat(one, two, first_pause_seconds=0.05, attempts=40)
    assert (await ask(chat))[0] == "two"


async def test_attempts_are_counted_over_all_endpoints(one: Scripted, two: Scripted) -> None:
    one.answers["other"] = two.answers["other"] = [Trouble.SERVER_ERROR]
    with pytest.raises(ChatError, match="5 requests"):
        await ask(a_chat(one, two, attempts=5))
    assert (len(one.requests), len(two.requests)) == (3, 2)


async def test_a_request_that_is_wrong_is_taken_nowhere_else(one: Scripted, two: Scripted) -> None:
    one.answers["other"] = [Status(400, "no")]
    with pytest.raises(ChatError, match=r"status 400 \(1 requests\)"):
        await ask(a_chat(one, two))
    assert two.requests == []


async def test_load_is_spread_where_that_is_wanted() -> None:
    with Scripted(latency=0.2) as one, Scripted(latency=0.2) as two:
        chat = a_chat(one, two, spread=True)
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(ask, chat)
    assert (len(one.requests), len(two.requests)) == (10, 10)


async def test_no_more_requests_than_allowed_are_in_flight_and_those_that_wait_keep_their_order() -> None:
    with Scripted(latency=0.05) as server:
        servers = Servers()
        chats = [Chat(settings(server, max_in_flight=3, model=model), servers) for model in "ab"]
        async with anyio.create_task_group() as tasks:
            for n in range(24):
                tasks.start_soon(ask, chats[n % 2], str(n))
                await anyio.lowlevel.checkpoint()
    assert server.most_in_flight == 3
    order = [int(request["messages"][1]["content"]) for request in server.requests]
    assert all(abs(place - n) < 3 for place, n in enumerate(order))


async def test_the_schema_is_sent_as_strict_structured_outputs(one: Scripted) -> None:
    await ask(a_chat(one), schema=SCHEMA)
    assert one.requests[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
    }


@pytest.mark.parametrize(
    ("message", "status"),
    [("response_format is unknown", 400), ("bad request", 400), ("unknown field: response_format", 422)],
)
async def test_a_server_that_refuses_the_schema_is_asked_without_it_from_then_on(
    one: Scripted, caplog: pytest.LogCaptureFixture, message: str, status: int
) -> None:
    one.answers["other"] = [refusing(message, when="response_format", status=status)]
    chat = a_chat(one)
    with caplog.at_level(logging.WARNING, "consumers.chat"):
        for _ in range(3):
            assert (await ask(chat, schema=SCHEMA))[0] == "yes"
    forms = [request.get("response_format", {}).get("type") for request in one.requests]
    assert forms == ["json_schema", "json_object", None, None, None]
    (line,) = caplog.messages
    assert line.endswith("from now on it is sent no response_format, max_tokens and a temperature")


async def test_what_one_model_refuses_is_sent_to_another(one: Scripted) -> None:
    def choosy(request: dict[str, Any]) -> str | Status:
        refused = request["model"] == "a" and "response_format" in request
        return Status(400, "response_format is unknown") if refused else "yes"

    one.answers["other"] = [choosy]
    servers = Servers()
    for model in "aba":
        await ask(Chat(settings(one, model=model), servers), schema=SCHEMA)
    sent = [(r["model"], r.get("response_format", {}).get("type")) for r in one.requests]
    assert sent == [
        ("a", "json_schema"),
        ("a", "json_object"),
        ("a", None),
        ("b", "json_schema"),
        ("a", None),
    ]


async def test_a_refusal_that_nothing_optional_explains_is_not_remembered(one: Scripted) -> None:
    one.answers["other"] = [Status(400, "no"), Status(400, "no"), Status(400, "no"), "yes"]
    chat = a_chat(one)
    with pytest.raises(ChatError, match="status 400"):
        await ask(chat, schema=SCHEMA)
    await ask(chat, schema=SCHEMA)
    assert one.requests[-1]["response_format"]["type"] == "json_schema"


async def test_a_form_that_was_set_is_insisted_on(one: Scripted) -> None:
    one.answers["other"] = [refusing("response_format is unknown", when="response_format")]
    with pytest.raises(ChatError, match="status 400"):
        await ask(a_chat(one, structured="json_schema"), schema=SCHEMA)
    assert (await ask(a_chat(one, structured="off"), schema=SCHEMA))[0] == "yes"


async def test_a_model_that_thinks_is_asked_in_its_own_words(one: Scripted) -> None:
    def openai(request: dict[str, Any]) -> str | Status:
        if "max_tokens" in request:
            return Status(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        if "temperature" in request:
            return Status(400, "Unsupported value: 'temperature' does not support 0.7 with this model.")
        return "yes"

    one.answers["other"] = [openai]
    chat = a_chat(one, max_tokens=77)
    await ask(chat, schema=SCHEMA)
    await ask(chat, schema=SCHEMA)
    assert len(one.requests) == 4
    assert one.requests[-1]["max_completion_tokens"] == 77
    assert one.requests[-1]["response_format"]["type"] == "json_schema"


async def test_a_prompt_beyond_the_context_is_not_sent_again_and_the_way_out_is_named(one: Scripted) -> None:
    one.answers["other"] = [Status(400, "This model's maximum context length is 10 tokens, you requested 99")]
    with pytest.raises(ChatError, match=r"does not fit the model's context .*set context_tokens"):
        await ask(a_chat(one), schema=SCHEMA)
    assert len(one.requests) == 1


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply("perhaps, or ra", "length"), "the reply was cut off at max_tokens = 2048: 'perhaps, or ra'"),
        (Reply(None, "length", {"reasoning_content": "hm"}), "thinking only, cut off at max_tokens = 2048"),
        (Reply("", message={"reasoning_content": "yes"}), "the reply is thinking only"),
        (Reply("yes", "content_filter"), "content filter"),
        (Reply(None, message={"refusal": "no"}), "refused"),
        (Reply("I am sorry."), "neither yes nor no"),
    ],
)
async def test_a_reply_that_is_none_is_asked_for_again_and_says_why(
    one: Scripted, reply: Reply, reason: str
) -> None:
    one.answers["other"] = [reply, "yes"]
    chat = a_chat(one, first_pause_seconds=1000)
    with anyio.fail_after(10):
        assert (await chat.ask("s", "u", yes_or_no))[0] == "yes"
    one.answers["other"] = [reply]
    with pytest.raises(ChatError, match=reason):
        await chat.ask("s", "u", yes_or_no)


async def test_a_reply_that_was_cut_off_counts_if_it_can_be_read(one: Scripted) -> None:
    one.answers["other"] = [Reply("yes", "length")]
    assert (await ask(a_chat(one)))[0] == "yes"


async def test_nothing_in_a_text_breaks_a_request(one: Scripted) -> None:
    await ask(a_chat(one), "a\x00b\ud800c\x1b[0m\u2028\U0001f600")
    assert one.requests[0]["messages"][1]["content"] == "a\ufffdb\ufffdc\ufffd[0m\u2028\U0001f600"


async def test_a_spent_allowance_is_an_error_at_once_and_nothing_is_sent(one: Scripted) -> None:
    chat = a_chat(one, tokens_per_run=2400)
    await ask(chat)
    await ask(chat)
    await ask(chat)
    with pytest.raises(ChatError, match="tokens_per_run is 2400: 330 tokens are spent"):
        await ask(chat, "x" * 900)
    assert len(one.requests) == 3


async def test_many_requests_at_once_do_not_overspend() -> None:
    with Scripted(latency=0.1) as server:
        chat, refused = a_chat(server, tokens_per_hour=5000, max_tokens=500), list[ChatError]()

        async def one() -> None:
            try:
                await ask(chat)
            except ChatError as error:
                refused.append(error)

        async with anyio.create_task_group() as tasks:
            for _ in range(100):
                tasks.start_soon(one)
    assert len(server.requests) == 9
    assert len(refused) == 91


async def test_an_answer_that_never_came_is_counted_in_full(one: Scripted) -> None:
    one.answers["other"] = [Trouble.SLOW]
    allowance = Allowance(per_run=3000)
    chat = Chat(settings(one, timeout_seconds=0.2, attempts=2), None, allowance)
    with pytest.raises(ChatError, match="tokens_per_run is 3000: 20"):
        await ask(chat)
    assert len(one.requests) == 1


async def test_a_case_that_is_given_up_leaves_its_place_to_others(one: Scripted) -> None:
    one.answers["other"] = [Trouble.SLOW, "yes"]
    servers = Servers()
    asking = settings(one, max_in_flight=1, tokens_per_run=2100)
    chat = Chat(asking, servers)
    with anyio.move_on_after(0.3):
        await ask(chat)
    assert len(one.requests) == 1
    assert (await ask(chat))[0] == "yes"
    assert servers.at(asking, 1.0).circuit.health(anyio.current_time()) is Health.AWAKE

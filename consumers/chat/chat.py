"""One question to a language model, asked again, there or elsewhere, while there is hope of an answer."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import anyio

from consumers.chat import completion, kept, routes, tokens
from consumers.chat.allowance import Allowance, Spent
from consumers.chat.circuit import Health
from consumers.chat.dialect import Schema, first_dialect
from consumers.chat.replies import UnreadableReply
from consumers.chat.retries import LONGEST_PAUSE, PATIENCE, Failure, Kind, TimedOut, backoff
from consumers.chat.server import Server, Servers
from consumers.chat.settings import Address, Asking, Endpoint
from consumers.chat.templates import printable
from consumers.chat.usage import Usage
from mentor_stream.metrics.catalogue.mentor import REQUEST_SECONDS, REQUESTS
from mentor_stream.metrics.readings import OWN as READINGS

T = TypeVar("T")


class ChatError(Exception):
    """No usable answer, whatever was tried; what trying cost."""

    def __init__(self, reason: str, usage: Usage) -> None:
        super().__init__(reason)
        self.usage = usage


@dataclass(frozen=True)
class _Target:
    """One of the endpoints, and what the model is called and costs there."""

    server: Server
    model: str
    address: Address


@dataclass
class _Question:
    """What is asked, and how asking went so far."""

    messages: list[dict[str, str]]
    schema: Schema | None
    usage: Usage
    failed: set[int] = field(default_factory=set)
    """Places of the endpoints that failed since the last pause."""
    closed: set[int] = field(default_factory=set)
    """Places of those that will not answer us at all."""
    requests: int = 0
    rounds: int = 0
    """Pauses made."""


class Chat:
    """One way of asking, at one endpoint or several; chats may share those, and an allowance."""

    def __init__(
        self, asking: Asking, servers: Servers | None = None, allowance: Allowance | None = None
    ) -> None:
        self._asking = asking
        self._allowance = allowance or allowance_of(asking)
        shared = servers or Servers()
        self._targets = [
            _Target(shared.at(address, asking.first_pause_seconds), model or asking.model, address)
            for address, model in ((asking, None), *((other, other.model) for other in asking.standby))
        ]

    async def ask(
        self, system: str, user: str, read: Callable[[str], T], *, schema: Schema | None = None
    ) -> tuple[T, Usage]:
        """What `read` makes of the reply, and the cost of all requests. Raises ChatError.

        Asks again after 408, 409, 429, 5xx, a broken connection and a time-out: at the next endpoint at once,
        or here after a growing pause. After a reply that is none or that `read` refuses (UnreadableReply)
        at once. `schema` says what JSON the reply shall be, where the endpoint can be told.
        """
        messages = [
            {"role": "system", "content": printable(system)},
            {"role": "user", "content": printable(user)},
        ]
        asked = _Question(messages, schema, Usage(model=self._targets[0].model))
        for attempt in range(1, self._asking.attempts + 1):
            try:
                place = await self._place(asked)
                return await self._request(place, asked, read), asked.usage
            except Spent as spent:
                raise ChatError(str(spent), asked.usage) from spent
            except Failure as failure:
                if attempt == self._asking.attempts or not self._hope(failure, asked):
                    raise ChatError(f"{failure} ({asked.requests} requests)", asked.usage) from failure
                await self._pause(failure, asked)
        raise AssertionError

    def _hope(self, failure: Failure, asked: _Question) -> bool:
        """Whether asking again may help."""
        return failure.kind is not Kind.REQUEST and len(asked.closed) < len(self._targets)

    async def _pause(self, failure: Failure, asked: _Question) -> None:
        """Wait as long as must be before the next request: not at all where another endpoint is left."""
        if (
            failure.kind is Kind.REPLY
            or routes.choose(self._routes(), asked.failed, spread=False) is not None
        ):
            return
        asked.rounds += 1
        asked.failed = set(asked.closed)
        pause = backoff(self._asking.first_pause_seconds, asked.rounds, random.random())  # noqa: S311
        asked_for = failure.pause or 0.0
        await anyio.sleep(max(pause, asked_for if asked_for <= PATIENCE else 0.0))

    async def _place(self, asked: _Question) -> int:
        """The place of the endpoint to ask, after its rest if all of them rest. Raises Failure."""
        standing = self._routes()
        place = routes.choose(standing, asked.failed, spread=self._asking.spread)
        if place is not None:
            return place
        place = routes.soonest(standing, asked.closed)
        assert place is not None, "asked again without hope"
        rest = standing[place].wakes - anyio.current_time()
        if standing[place].health is Health.RESTING:
            if rest > LONGEST_PAUSE:
                raise Failure(f"{self._targets[place].server.url} rests for {rest:.0f} s", Kind.REQUEST)
            await anyio.sleep(rest)
        return place

    async def _request(self, place: int, asked: _Question, read: Callable[[str], T]) -> T:
        """What `read` makes of one reply, new or kept. Raises Failure, Spent."""
        target, case = self._targets[place], kept.current()
        ask = partial(self._served, place, asked)
        if case is None:
            response = await ask()
        else:
            before = asked.requests
            found = await case.reply(self._body(target, asked), ask)
            response = found.response
            asked.usage.kept_seconds = (asked.usage.kept_seconds or 0.0) + found.seconds
            if asked.requests == before:
                self._count(target, asked, response)
        try:
            return read(completion.text_of(response, self._asking.max_tokens))
        except UnreadableReply as error:
            cut = f"the reply was cut off at max_tokens = {self._asking.max_tokens}: "
            raise Failure(f"{cut if completion.is_cut(response) else ''}{error}", Kind.REPLY) from error

    async def _served(self, place: int, asked: _Question) -> object:
        """The response to one request, in its turn. Raises Failure, Spent."""
        server = self._targets[place].server
        async with server.turn():
            if server.route(anyio.current_time()).health is Health.RESTING:
                asked.failed.add(place)  # it failed others while this one waited for its turn
                raise Failure(f"{server.url} fails and rests: {server.trouble}", Kind.DOWN)
            return await self._watched(place, asked)

    def _body(self, target: _Target, asked: _Question) -> dict[str, object]:
        """All of a request that its reply depends on, whatever the endpoint has been learnt to take."""
        options = first_dialect(self._asking.structured).options(self._asking, asked.schema)
        return {"model": target.model, "messages": asked.messages, **options}

    async def _watched(self, place: int, asked: _Question) -> object:
        """The response, noted in the endpoint's health. Raises Failure, Spent."""
        circuit, began = self._targets[place].server.circuit, anyio.current_time()
        trial = circuit.begin(began)
        try:
            with READINGS.timing(REQUEST_SECONDS):
                response = await self._paid(self._targets[place], asked)
        except Failure as failure:
            READINGS.add(REQUESTS, 1, failure.kind.value)
            if failure.kind is Kind.REQUEST:
                circuit.succeed()
                raise
            circuit.fail(anyio.current_time(), began, rest=failure.rest)
            self._targets[place].server.trouble = str(failure)
            asked.failed.add(place)
            if failure.kind is Kind.CLOSED:
                asked.closed.add(place)
            raise
        finally:
            if trial:
                circuit.abandon()
        circuit.succeed()
        READINGS.add(REQUESTS, 1, "answered")
        return response

    async def _paid(self, target: _Target, asked: _Question) -> object:
        """The response, its tokens booked. Raises Failure, Spent."""
        prompt = sum(tokens.estimate(message["content"]) for message in asked.messages)
        reserved, spent = prompt + self._asking.max_tokens, 0
        self._allowance.reserve(reserved, anyio.current_time())
        asked.requests += 1
        asked.usage.model = target.model
        try:
            response = await target.server.complete(self._asking, target.model, asked.messages, asked.schema)
            used = completion.tokens_of(response)
            spent = reserved if used is None else sum(used)
        except TimedOut:
            spent = reserved  # nobody knows what the endpoint has generated
            raise
        finally:
            self._allowance.settle(reserved, spent, anyio.current_time())
        self._count(target, asked, response)
        if not completion.is_completion(response):
            raise Failure("the response is no chat completion", Kind.DOWN)
        return response

    def _count(self, target: _Target, asked: _Question, response: object) -> None:
        """What the response cost, or would have."""
        prices = {
            "input_price": target.address.input_price,
            "output_price": target.address.output_price,
        }
        asked.usage.model = target.model
        asked.usage.count(*(completion.tokens_of(response) or (0, 0)), **prices)

    def _routes(self) -> list[routes.Route]:
        now = anyio.current_time()
        return [target.server.route(now) for target in self._targets]


def allowance_of(asking: Asking) -> Allowance:
    """What settings allow to spend: without bound where they say nothing of it."""
    if isinstance(asking, Endpoint):
        return Allowance(asking.tokens_per_hour, asking.tokens_per_run)
    return Allowance()

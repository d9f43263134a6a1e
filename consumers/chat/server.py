"""One endpoint at work: its connections, whose turn it is, how it is, and what it was learnt to take."""

import logging
import os
import re
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from consumers.chat.circuit import Circuit
from consumers.chat.dialect import Dialect, Schema, first_dialect, overflows
from consumers.chat.retries import LONGEST_PAUSE, Failure, Kind, TimedOut, kind_of, retry_after
from consumers.chat.routes import Route
from consumers.chat.settings import Address, Asking

if TYPE_CHECKING:
    from openai import AsyncOpenAI

LANE_REQUESTS = 64
"""Requests in flight through one client. Its pool looks at every connection for every request, which at 512
costs more than all the rest; it keeps 100 connections open, so that none is made anew."""

log = logging.getLogger(__name__)


class Refused(Exception):
    """A status other than 2xx, and the server's words, which may hold secrets and are kept from logs."""

    def __init__(self, status: int, said: str, pause: float | None) -> None:
        super().__init__(f"status {status}")
        self.status, self.said, self.pause = status, said, pause


@dataclass
class _Lane:
    client: "AsyncOpenAI"
    in_flight: int = 0


class Server:
    """One endpoint, shared by all who ask it."""

    def __init__(self, address: Address, first_pause: float) -> None:
        self.url = address.base_url
        self.trouble = ""
        """The last failure, for whoever is not to ask because of it."""
        self.circuit = Circuit(first_pause, LONGEST_PAUSE)
        self._key_env, self._bound = address.api_key_env, address.max_in_flight
        self._slots = anyio.Semaphore(address.max_in_flight)
        self._dialects: dict[tuple[str, str], Dialect] = {}
        self._lanes: list[_Lane] = []
        self._asked = 0

    def route(self, now: float) -> Route:
        """How the endpoint stands."""
        return Route(self.circuit.health(now), self.circuit.wakes, self._asked / self._bound)

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """A place among the requests in flight, in order of arrival."""
        self._asked += 1
        try:
            async with self._slots:
                yield
        finally:
            self._asked -= 1

    async def complete(
        self, asking: Asking, model: str, messages: list[dict[str, str]], schema: Schema | None
    ) -> Any:
        """The response, whatever it is. Raises Failure, whose texts hold nothing of the request.

        What the endpoint refuses of the optional parameters is left out and, when that helps, from then on.
        Responses are taken as plain JSON: a third less time than the client's models, whose fields would need
        checking anyway.
        """
        key = (model, asking.structured)
        known = dialect = self._dialects.get(key) or first_dialect(asking.structured)
        while True:
            body = {"model": model, "messages": messages, **dialect.options(asking, schema)}
            try:
                response = await self._post(body, asking.timeout_seconds)
            except Refused as refusal:
                if overflows(refusal.status, refusal.said):
                    raise _overflow(asking, refusal) from refusal
                other = dialect.after(refusal.status, refusal.said)
                if other is None:
                    raise Failure(str(refusal), kind_of(refusal.status), refusal.pause) from refusal
                dialect = other
            else:
                if dialect != known:
                    self._learn(key, dialect)
                return response

    def _learn(self, key: tuple[str, str], dialect: Dialect) -> None:
        if self._dialects.get(key) != dialect:
            what = f"a part of requests for {key[0]}; from now on it is sent {dialect}"
            log.warning("%s refuses %s", self.url, what)
        self._dialects[key] = dialect

    async def _post(self, body: Mapping[str, Any], timeout: float) -> Any:
        """The response's JSON. Raises Refused, Failure."""
        import openai

        from consumers.chat.bounded import TooLong

        try:
            with anyio.fail_after(timeout), self._lane() as client:
                return await client.post("/chat/completions", body=body, cast_to=object)
        except TimeoutError:
            raise TimedOut(timeout) from None
        except openai.APIStatusError as error:
            said = re.sub(r"\s+", " ", f"{error.body} {error.message}"[:4000]).lower()
            pause = retry_after(error.response.headers.get("retry-after"))
            raise Refused(error.status_code, said, pause) from error
        except TooLong as error:
            raise Failure(str(error), Kind.DOWN) from error
        except openai.APIConnectionError as error:
            cause = type(error.__cause__ or error).__name__
            raise Failure(f"{self.url} cannot be reached ({cause})", Kind.DOWN) from error
        except (openai.OpenAIError, ValueError, RecursionError) as error:
            raise Failure(f"the response is no JSON ({type(error).__name__})", Kind.DOWN) from error

    @contextmanager
    def _lane(self) -> Generator["AsyncOpenAI"]:
        """The first client with room, a new one if there is none."""
        lane = next((lane for lane in self._lanes if lane.in_flight < LANE_REQUESTS), None)
        if lane is None:
            lane = _Lane(self._client())
            self._lanes.append(lane)
        lane.in_flight += 1
        try:
            yield lane.client
        finally:
            lane.in_flight -= 1

    def _client(self) -> "AsyncOpenAI":
        """Made when it is needed. It repeats nothing and has no time-outs: both are ours."""
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        from consumers.chat.bounded import bound

        key = os.environ[self._key_env] if self._key_env else "none"
        http = DefaultAsyncHttpxClient(
            timeout=None, headers={"accept-encoding": "identity"}, event_hooks={"response": [bound]}
        )
        return AsyncOpenAI(base_url=self.url, api_key=key, max_retries=0, timeout=None, http_client=http)


class Servers:
    """The endpoints of a guide: those who name the same one with the same key and bound share it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str | None, int], Server] = {}

    def at(self, address: Address, first_pause: float) -> Server:
        """The server of an address."""
        key = (address.base_url, address.api_key_env, address.max_in_flight)
        return self._known.setdefault(key, Server(address, first_pause))


def _overflow(asking: Asking, refusal: Refused) -> Failure:
    set_to = asking.context_tokens or "not set"
    return Failure(
        f"the request does not fit the model's context ({refusal}): set context_tokens, which is {set_to}, "
        f"to the context's size, or lower max_tokens, which is {asking.max_tokens}",
        Kind.REQUEST,
    )

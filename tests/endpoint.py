"""A scripted OpenAI-compatible endpoint: a real HTTP server in a thread, told what to answer which agent.

    with Endpoint() as endpoint:
        endpoint.answers["judgment"] = [verdict("leak"), verdict("pass")]

An answer is what the model says (a str, or a Reply with more than text), an HTTP Status, trouble such as
`Trouble.HTML`, or a function of the request that gives one of these. The last answer of a list is repeated
for ever. Which agent asks is read off the system message of the built-in prompts; anyone else is "other".
"""

import asyncio
import gzip
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self

HINT = "Think about what the first step leaves over."


class Trouble(Enum):
    """Ways in which a request goes wrong."""

    SLOW = "slow"
    SERVER_ERROR = "500"
    RATE_LIMIT = "429"
    UNAUTHORIZED = "401"
    HTML = "html"
    NO_CHOICES = "no choices"
    EMPTY_TEXT = "empty text"
    TRUNCATED_BODY = "truncated body"
    HANG_UP = "hang up"
    SURROGATE = "surrogate"
    NAN_USAGE = "nan usage"
    HUGE = "huge"
    HUGE_ERROR = "huge error"
    COMPRESSED = "compressed"
    NESTED = "nested"


@dataclass(frozen=True)
class Reply:
    """A choice of a completion."""

    content: str | None
    finish_reason: str = "stop"
    message: Mapping[str, str] = field(default_factory=dict)
    """Further fields of the message, such as reasoning_content."""


@dataclass(frozen=True)
class Status:
    """An HTTP status with an error object."""

    code: int
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


Outcome = str | Reply | Status | Trouble
Answer = Outcome | Callable[[dict[str, Any]], Outcome]

_AGENTS = {
    "why students fail": "attribution",
    "You write hints": "generation",
    "strict examiner": "judgment",
    "You revise hints": "repair",
    "You compare hints": "ranking",
    "You correct a student": "critique",
}


def hint(text: str = HINT) -> str:
    """What Generation and Repair reply."""
    return json.dumps({"hint": text})


def verdict(word: str, critique: str = "") -> str:
    """What Judgment replies."""
    return json.dumps({"verdict": word, "critique": critique})


def attribution(cause: str = "The carry is forgotten.") -> str:
    """What Attribution replies."""
    return json.dumps({"root_cause": cause, "errors": ["no carry"], "keywords": ["carry"]})


def critique(text: str = "The carry of the first step is dropped.") -> str:
    """What the critic replies."""
    return json.dumps({"critique": text})


def ranking(*order: int) -> str:
    """What Ranking replies."""
    return json.dumps({"order": order})


def agent_of(request: dict[str, Any]) -> str:
    """Which agent sent a request."""
    system = request["messages"][0]["content"]
    return next((agent for words, agent in _AGENTS.items() if words in system), "other")


class Endpoint:
    """The server; as a context manager it runs. `requests` are the bodies received, in order."""

    def __init__(self, *, latency: float = 0.0, port: int = 0) -> None:
        self.latency, self.port = latency, port
        self.answers: dict[str, list[Answer]] = {
            "attribution": [attribution()],
            "generation": [hint()],
            "judgment": [verdict("pass")],
            "repair": [hint("Look at the units digit of each step.")],
            "ranking": [ranking(1, 2)],
            "other": ["yes"],
            "critique": [critique()],
        }
        self.requests: list[dict[str, Any]] = []
        self.headers: list[str] = []
        self.in_flight = self.most_in_flight = 0
        self._started = threading.Event()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def asked(self, agent: str) -> list[str]:
        """The user's turns that one agent sent."""
        return [r["messages"][1]["content"] for r in self.requests if agent_of(r) == agent]

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (head := await reader.readuntil(b"\r\n\r\n")) is not None:
                lines = head.decode().split("\r\n")
                length = next(int(x.split(":")[1]) for x in lines if x.lower().startswith("content-length"))
                self.headers.append(head.decode())
                response = await self._respond(json.loads(await reader.readexactly(length)))
                if response is None:
                    break
                writer.write(response)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the last when the server stops
        finally:
            writer.close()

    async def _respond(self, request: dict[str, Any]) -> bytes | None:
        self.requests.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.latency)
            answers = self.answers[agent_of(request)]
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if callable(answer):
                answer = answer(request)
            if answer is Trouble.SLOW:
                await asyncio.sleep(3600)
            return _response(answer)
        finally:
            self.in_flight -= 1


def _response(answer: Outcome) -> bytes | None:
    if isinstance(answer, (str, Reply)):
        return _http(200, _completion(answer))
    if isinstance(answer, Status):
        body = json.dumps({"error": {"message": answer.message}}).encode()
        return _http(answer.code, body, "".join(f"{k}: {v}\r\n" for k, v in answer.headers.items()))
    return {
        Trouble.SLOW: None,
        Trouble.HANG_UP: None,
        Trouble.SERVER_ERROR: _http(500, b'{"error": {"message": "out of memory"}}'),
        Trouble.RATE_LIMIT: _http(429, b'{"error": {"message": "slow down"}}', "retry-after: 0.01\r\n"),
        Trouble.UNAUTHORIZED: _http(401, b'{"error": {"message": "bad key sk-secret"}}'),
        Trouble.HTML: _http(200, b"<html>Maintenance</html>", kind="text/html"),
        Trouble.NO_CHOICES: _http(200, b'{"id": "1", "object": "chat.completion", "choices": []}'),
        Trouble.EMPTY_TEXT: _http(200, _completion("")),
        Trouble.TRUNCATED_BODY: _http(200, _completion(hint())[:60]),
        Trouble.SURROGATE: _http(200, _completion("@").replace(b'"@"', b'"{\\"hint\\": \\"a \\ud800 b\\"}"')),
        Trouble.NAN_USAGE: _http(200, _completion(hint()).replace(b"100", b"NaN").replace(b"10}", b"-3}")),
        Trouble.HUGE: _http(200, _completion("x" * 2**23)),
        Trouble.HUGE_ERROR: _http(500, b'{"error": "' + b"x" * 2**23 + b'"}'),
        Trouble.COMPRESSED: _http(200, gzip.compress(b" " * 2**23), "content-encoding: gzip\r\n"),
        Trouble.NESTED: _http(200, b"[" * 10**5),
    }[answer]


def _completion(said: str | Reply) -> bytes:
    reply = said if isinstance(said, Reply) else Reply(said)
    message = {"role": "assistant", "content": reply.content, **reply.message}
    return json.dumps({
        "id": "1",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }).replace(', "total_tokens": 110', "").encode()  # fmt: skip


def _http(status: int, body: bytes, extra: str = "", kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body

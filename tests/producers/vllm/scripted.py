"""A server that answers as `vllm serve` does, until it is told to fail: for troubles that the real one cannot
be made to have. A real HTTP server in a thread."""

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

ROUTES = ("/health", "/metrics", "/version", "/weight_info", "/server_info", "/pause", "/resume")
ROUTES += ("/start_weight_update", "/update_weights", "/finish_weight_update", "/update_weight_version")
ROUTES += ("/reset_prefix_cache", "/inference/v1/generate")


@dataclass
class Http:
    """A response; `hang` never sends it, `cut` sends only the head and the first so many bytes."""

    body: bytes = b""
    status: int = 200
    hang: bool = False
    cut: int | None = None


Answer = Http | Callable[[dict[str, Any]], Http]


def as_json(value: Any, status: int = 200) -> Http:
    """A response that is JSON."""
    return Http(json.dumps(value).encode(), status)


def info(**changes: Any) -> dict[str, Any]:
    """What /server_info says, as far as it is read: of a server that can be used."""
    settings: dict[str, Any] = {
        "model_config": {"model": "/policy", "max_model_len": 512, "logprobs_mode": "processed_logprobs"},
        "scheduler_config": {"max_num_seqs": 8},
        "device_config": {"device": "cuda"},
        "weight_transfer_config": {"backend": "mentor-stream"},
    }
    for name, change in changes.items():
        settings[name] = change if change is None else settings[name] | change
    return {"vllm_config": settings, "vllm_env": {}, "system_env": {}}


def completion(label: str, index: int = 0, tokens: int = 3, **changes: Any) -> dict[str, Any]:
    """One choice."""
    return {
        "index": index,
        "finish_reason": "stop",
        "token_ids": [10] * tokens,
        "weight_versions": [{"version": label, "start": 0, "end": tokens}],
        "logprobs": {"content": [{"token_id": 10, "logprob": -0.5, "rank": 1}] * tokens},
    } | changes


@dataclass
class ScriptedVllm:
    """The server; as a context manager it runs. `next` are answers to requests for completions, used once."""

    port: int = 0
    label: str = "default"
    settings: dict[str, Any] = field(default_factory=info)
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    """Other answers than the usual ones, by route."""
    next: list[Answer] = field(default_factory=list[Answer])
    requests: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    keys: set[str] = field(default_factory=set[str])
    _tokens: int = 0

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def asked(self) -> list[dict[str, Any]]:
        """Requests for completions."""
        return [body for path, body in self.requests if path == "/inference/v1/generate" and body]

    def choices(self, request: dict[str, Any], **changes: Any) -> Http:
        """All that was asked for."""
        count = request["sampling_params"]["n"]
        return as_json({"choices": [completion(self.label, index, **changes) for index in range(count)]})

    def __enter__(self) -> Self:
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                fields = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:])}
                self.keys.add(fields.get("authorization", ""))
                data = await reader.readexactly(int(fields.get("content-length", 0)))
                path = head[0].split()[1].partition("?")[0]
                response = self._respond(path, json.loads(data) if data else None)
                if response.hang:
                    await asyncio.sleep(3600)
                top = f"HTTP/1.1 {response.status} x\r\ncontent-length: {len(response.body)}\r\n\r\n"
                writer.write(top.encode() + response.body[: response.cut])
                await writer.drain()
                if response.cut is not None:
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the last when the server stops
        finally:
            writer.close()

    def _respond(self, path: str, body: Any) -> Http:
        self.requests.append((path, body))
        if path == "/inference/v1/generate" and body and self.next:
            answer = self.next.pop(0)
            return answer(body) if callable(answer) else answer
        if path in self.answers:
            answer = self.answers[path]
            return answer(body) if callable(answer) else answer
        return self._usual(path, body) if path in ROUTES else as_json({"detail": "Not Found"}, 404)

    def _usual(self, path: str, body: Any) -> Http:
        if path == "/update_weight_version":
            self.label = body["new_version"]
        if path == "/finish_weight_update":
            self.label = body.get("weight_version", self.label)
        if path == "/inference/v1/generate":
            self._tokens += 3
            return self.choices(body) if body else as_json({"error": {"message": "token_ids"}}, 400)
        return {
            "/metrics": Http(f'vllm:generation_tokens_total{{engine="0"}} {self._tokens}.0\n'.encode()),
            "/version": as_json({"version": "0.32.0"}),
            "/weight_info": as_json({"weight_version": self.label}),
            "/server_info": as_json(self.settings),
            "/reset_prefix_cache": as_json({"success": True}),
        }.get(path, as_json({}))

"""What one `vllm serve` says over HTTP. Replies are read up to a length; failures are Down or Refused."""

import math
import os
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
import httpx2
import msgspec

from producers.engines.vllm.config import Config
from producers.engines.vllm.plugin import AGAIN, FETCH, INTACT

IDLE_SECONDS = 2.0
"""An idle connection is not used after that: the server closes it after 5 s, perhaps just as we write."""
CALL_SECONDS = 30.0
CALL_BYTES = 2**23
"""Of any reply but completions: metrics and the server's own settings are the longest."""
SAID = 300
"""Characters that are kept of what a server says when it refuses."""
PROGRESS = re.compile(r"^vllm:(?:generation|prompt)_tokens_total(?:\{[^\n]*\})? ([0-9.e+]+)$", re.MULTILINE)


class Down(Exception):
    """The server cannot be reached or does not work."""


class Gibberish(Down):
    """An answer that is not JSON, where it must be."""


class Refused(Exception):
    """An answer other than 2xx that a request of ours is the reason of: its status and the server's words."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"status {status}: {said}")
        self.status, self.said = status, said


class Api:
    """Calls of one server."""

    def __init__(self, url: str, config: Config) -> None:
        key = os.environ.get(config.api_key_env) if config.api_key_env else None
        headers = {"accept-encoding": "identity"} | ({"authorization": f"Bearer {key}"} if key else {})
        limits = httpx2.Limits(
            max_connections=None, max_keepalive_connections=256, keepalive_expiry=IDLE_SECONDS
        )
        self.url = url
        self._client = httpx2.AsyncClient(
            base_url=url, headers=headers, limits=limits, timeout=None, trust_env=False
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def get(self, path: str) -> Any:
        """The JSON at a path."""
        return self._json(await self._call("GET", path, None, CALL_BYTES, CALL_SECONDS))

    async def post(self, path: str, body: Any = None, seconds: float = CALL_SECONDS) -> Any:
        """What comes of a command."""
        return self._json(await self._call("POST", path, body, CALL_BYTES, seconds))

    async def is_healthy(self) -> None:
        """Raises Down or Refused when it is not."""
        await self._call("GET", "/health", None, CALL_BYTES, CALL_SECONDS)

    async def progress(self, seconds: float) -> float:
        """Tokens read and made since it started; not a number where it does not count them."""
        page = await self._call("GET", "/metrics", None, CALL_BYTES, seconds)
        found = PROGRESS.findall(page.decode(errors="replace"))
        return sum(map(float, found)) if found else math.nan

    async def generate(self, body: Any, longest: int) -> bytes:
        """The reply to a request for completions, however long it takes."""
        return await self._call("POST", "/inference/v1/generate", body, longest, None)

    async def pause(self) -> None:
        """Let no token be sampled; what runs is kept."""
        await self.post("/pause?mode=keep")

    async def resume(self) -> None:
        """Go on."""
        await self.post("/resume")

    async def label(self) -> str:
        """Of the weights in use."""
        return str(self._field(await self.get("/weight_info"), "weight_version"))

    async def set_label(self, label: str) -> None:
        """What tokens sampled from now on are said to come from."""
        await self.post("/update_weight_version", {"new_version": label})

    async def fetch(self, source: Mapping[str, str]) -> list[Any]:
        """Have each of its workers fetch a snapshot beside its work; how far they are (transfer.Fetch)."""
        reply = await self.post("/collective_rpc", {"method": FETCH, "kwargs": source})
        return list(self._field(reply, "results"))

    async def load(self, source: Mapping[str, Any], label: str | None, seconds: float) -> None:
        """Load a snapshot, or be sent it; without a label only see whether it is of the server's model.

        What an earlier worker left unfinished is ended first.
        """
        try:
            await self.post("/start_weight_update")
        except Refused as refused:
            if "already active" not in refused.said:
                raise
            await self.post("/finish_weight_update", {})
            await self.post("/start_weight_update")
        info = {**source, "only_check": label is None}
        await self.post("/update_weights", {"update_info": info}, seconds)
        await self.post("/finish_weight_update", {} if label is None else {"weight_version": label})

    async def forget_prefixes(self) -> None:
        """Have every running request read again, with the weights in use now."""
        reply = await self.post("/reset_prefix_cache?reset_running_requests=true")
        if self._field(reply, "success") is not True:
            raise Down(f"{self.url} keeps its prefix cache, which is of older weights")

    async def _call(self, method: str, path: str, body: Any, longest: int, seconds: float | None) -> bytes:
        content = None if body is None else msgspec.json.encode(body)
        headers = {} if content is None else {"content-type": "application/json"}
        send = partial(self._exchange, method, path, content=content, headers=headers, longest=longest)
        try:
            with anyio.fail_after(seconds):
                try:
                    response, data = await send()
                except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):
                    response, data = await send()  # the server had closed an idle connection, as after a 500
        except TimeoutError:
            raise Down(f"{self.url}{path} gave no answer within {seconds:g} s") from None
        except httpx2.HTTPError as error:
            raise Down(f"{self.url} cannot be reached ({type(error).__name__}: {error})") from error
        if response.is_success:
            return data
        said = " ".join(data.decode(errors="replace").split())
        marked = INTACT in said or AGAIN in said
        if response.status_code < 500 or marked or "collective_rpc" in said:
            raise Refused(response.status_code, said[: 4 * SAID] if marked else said[:SAID])
        raise Down(f"{self.url}{path} answered {response.status_code}: {said[:SAID]}")

    async def _exchange(
        self, method: str, path: str, *, longest: int, **options: Any
    ) -> tuple[httpx2.Response, bytes]:
        async with self._client.stream(method, path, **options) as response:
            return response, await self._read(response, longest)

    async def _read(self, response: httpx2.Response, longest: int) -> bytes:
        data = bytearray()
        async for chunk in response.aiter_raw():
            data += chunk
            if len(data) > longest:
                raise Down(f"{self.url} sent more than the {longest} bytes that its reply may have")
        return bytes(data)

    def _json(self, data: bytes) -> Any:
        try:
            return msgspec.json.decode(data) if data else None
        except (ValueError, RecursionError) as error:
            raise Gibberish(f"{self.url} answered something that is no JSON") from error

    def _field(self, reply: Any, name: str) -> Any:
        if not isinstance(reply, dict) or name not in reply:
            raise Down(f"{self.url} answered without {name}")
        return reply[name]

"""One question to an OpenAI-compatible endpoint, asked again while there is hope of an answer."""

import os
import random
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from pydantic import Field, field_validator

from consumers.chat.replies import UnreadableReply
from consumers.chat.usage import Usage
from mentor_stream.config import Section

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")
LONGEST_PAUSE = 30.0


class Endpoint(Section):
    """Where the language model is and how it is asked."""

    base_url: str
    """Of the endpoint, as far as `/v1`."""
    model: str = Field(min_length=1)
    api_key_env: str | None = None
    """Name of the environment variable that holds the key; left out for servers that want none."""
    temperature: float = Field(0.7, ge=0)
    max_tokens: int = Field(2048, ge=1)
    """Longest reply, thinking included."""
    timeout_seconds: float = Field(120.0, gt=0)
    """For one request, from its start to the last byte of the reply."""
    attempts: int = Field(4, ge=1)
    """Requests for one answer before asking has failed."""
    first_pause_seconds: float = Field(1.0, ge=0)
    """Before the second request; doubled each time, up to 30 s, and varied at random by half."""

    @field_validator("base_url")
    @classmethod
    def _carries_no_secret(cls, url: str) -> str:
        if not re.match(r"https?://[^/:?#]", url):
            raise ValueError("expected http://host:port/v1 or https://host/v1")
        if "@" in url:
            raise ValueError("a key or password does not belong in the URL: use api_key_env")
        return url

    def problems(self, setting: str) -> Iterable[str]:
        """What validation of single settings cannot see."""
        if self.api_key_env and not os.environ.get(self.api_key_env):
            yield f"{setting}.api_key_env is {self.api_key_env!r}: this environment variable is not set."


class ChatError(Exception):
    """No usable answer, whatever was tried; what trying cost."""

    def __init__(self, reason: str, usage: Usage) -> None:
        super().__init__(reason)
        self.usage = usage


class _Unanswered(Exception):
    """A request without a usable answer: whether to repeat it, and after what pause if the server said."""

    def __init__(self, reason: str, *, again: bool = True, pause: float | None = None) -> None:
        super().__init__(reason)
        self.again, self.pause = again, pause


class Chat:
    """A connection to one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def ask(self, system: str, user: str, read: Callable[[str], T]) -> tuple[T, Usage]:
        """What `read` makes of the reply, and the cost of all requests. Raises ChatError.

        Repeats after 408, 409, 429, 5xx, a broken connection, a time-out, and a reply that is none or that
        `read` refuses (UnreadableReply), with growing pauses.
        """
        usage = Usage(model=self._endpoint.model)
        attempt = 0
        while True:
            attempt += 1
            try:
                return read(await self._request(system, user, usage)), usage
            except (_Unanswered, UnreadableReply) as failure:
                if attempt == self._endpoint.attempts or not getattr(failure, "again", True):
                    raise ChatError(f"{failure} ({attempt} requests)", usage) from failure
                pause = _pause(self._endpoint.first_pause_seconds, attempt, failure)
            await anyio.sleep(pause)

    async def _request(self, system: str, user: str, usage: Usage) -> str:
        try:
            with anyio.fail_after(self._endpoint.timeout_seconds):
                completion = await self._complete(system, user)
        except TimeoutError:
            raise _Unanswered(f"no reply within {self._endpoint.timeout_seconds:g} s") from None
        _count(completion, usage)
        return _reply_text(completion)

    async def _complete(self, system: str, user: str) -> Any:
        """The parsed response, whatever it is. Raises _Unanswered; its texts hold nothing of the request."""
        import openai

        try:
            return await self._client.chat.completions.create(
                model=self._endpoint.model,
                messages=[{"role": "system", "content": system}, {"role": "user", "content": user}],
                temperature=self._endpoint.temperature,
                max_tokens=self._endpoint.max_tokens,
            )
        except openai.APIStatusError as error:
            again = error.status_code in (408, 409, 429) or error.status_code >= 500
            pause = _retry_after(error.response.headers.get("retry-after"))
            raise _Unanswered(f"status {error.status_code}", again=again, pause=pause) from error
        except openai.APIConnectionError as error:
            cause = type(error.__cause__ or error).__name__
            raise _Unanswered(f"{self._endpoint.base_url} cannot be reached ({cause})") from error
        except (openai.OpenAIError, ValueError) as error:
            raise _Unanswered(f"the response is no JSON ({type(error).__name__})") from error

    @cached_property
    def _client(self) -> "AsyncOpenAI":
        """Made at the first request. Its own connection limit (1,000) is above any concurrency of ours."""
        from openai import AsyncOpenAI

        name = self._endpoint.api_key_env
        return AsyncOpenAI(
            base_url=self._endpoint.base_url,
            api_key=os.environ[name] if name else "none",
            timeout=self._endpoint.timeout_seconds,
            max_retries=0,
        )


def _reply_text(completion: Any) -> str:
    """The first choice's text: HTML, an error object and no choice at all were seen with status 200 too."""
    choices = getattr(completion, "choices", None)
    if not isinstance(choices, list) or not choices:
        raise _Unanswered("the response is no chat completion")
    content = getattr(getattr(choices[0], "message", None), "content", None)
    if not isinstance(content, str) or not content.strip():
        raise _Unanswered("the reply is empty")
    return content


def _count(completion: Any, usage: Usage) -> None:
    """Add the tokens that the endpoint says it used; servers were seen to say NaN, null and less than 0."""
    said = getattr(completion, "usage", None)
    for field in ("prompt_tokens", "completion_tokens"):
        tokens = getattr(said, field, None)
        if isinstance(tokens, int) and 0 <= tokens < 2**31:
            setattr(usage, field, getattr(usage, field) + tokens)


def _retry_after(header: str | None) -> float | None:
    try:
        return max(0.0, float(header or ""))
    except ValueError:
        return None


def _pause(first: float, attempt: int, failure: Exception) -> float:
    """Seconds before the next request: doubling, varied by half, at least what the server asked for."""
    grown = min(LONGEST_PAUSE, first * 2 ** (attempt - 1)) * random.uniform(0.5, 1.5)  # noqa: S311
    asked = getattr(failure, "pause", None) or 0.0
    return max(grown, min(asked, LONGEST_PAUSE))

"""Where language models are and how they are asked: what a config says of it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from mentor_stream import keys
from mentor_stream.config import Section, parse_section

Structured = Literal["auto", "json_schema", "json_object", "off"]


class Address(Section):
    """One endpoint, and what belongs to it alone."""

    base_url: str
    """Of the endpoint, as far as `/v1`."""
    api_key_env: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Name of the environment variable that holds the key; left out for servers that want none."""
    max_in_flight: int = Field(512, ge=1, le=4096)
    """Requests to the endpoint at once; more wait, in order of arrival."""
    input_price: float = Field(0.0, ge=0)
    """Of a million prompt tokens, in a currency of your choice."""
    output_price: float = Field(0.0, ge=0)
    """Of a million completion tokens."""

    @field_validator("base_url")
    @classmethod
    def _carries_no_secret(cls, url: str) -> str:
        if not re.match(r"https?://[^/:?#]", url) or not _is_url(url):
            raise ValueError("expected http://host:port/v1 or https://host/v1")
        if "@" in url or "?" in url or "#" in url:
            raise ValueError("a key, password or query does not belong in the URL: use api_key_env")
        return url


def _is_url(text: str) -> bool:
    """Whether the client will take it: printable without spaces, with a port that there is."""
    try:
        parts = urlsplit(text)
        return bool(parts.hostname) and parts.port != 0 and re.fullmatch(r"[!-~]+", text) is not None
    except ValueError:
        return False


class Standby(Address):
    """A further endpoint."""

    model: str | None = Field(None, min_length=1)
    """Its name for the model, where that is another."""


class Asking(Address):
    """How one model is asked, at one endpoint or several."""

    model: str = Field(min_length=1)
    standby: tuple[Standby, ...] = ()
    """Further endpoints, in order of preference: asked while those before them fail."""
    spread: bool = False
    """Ask the endpoint with the least in flight, instead of the first that works."""
    temperature: float = Field(0.7, ge=0)
    max_tokens: int = Field(2048, ge=1)
    """Longest reply, thinking included."""
    context_tokens: int | None = Field(None, ge=1)
    """The model's context, for prompt and reply together: evidence is shortened to fit. Left out: unknown."""
    timeout_seconds: float = Field(120.0, gt=0)
    """For one request, from its start to the last byte of the reply."""
    attempts: int = Field(4, ge=1)
    """Requests for one answer before asking has failed, over all endpoints."""
    first_pause_seconds: float = Field(1.0, ge=0)
    """Before an endpoint that failed is asked again; doubled each time, up to 30 s, varied by half."""
    structured: Structured = "auto"
    """Whether the endpoint is told the reply's JSON schema: `auto` as far as it accepts that, `json_schema`
    always, `json_object` only that it is JSON, `off` nothing. Replies are read leniently in any case."""

    @model_validator(mode="after")
    def _leaves_room_for_a_prompt(self) -> "Asking":
        if self.context_tokens is not None and self.context_tokens <= self.max_tokens:
            raise ValueError(
                f"context_tokens is {self.context_tokens} and max_tokens {self.max_tokens}, which leaves no "
                "room for a prompt: lower max_tokens"
            )
        return self

    def problems(self, setting: str) -> Iterable[str]:
        """What validation of single settings cannot see."""
        for place, address in (("", self), *((f".standby.{n}", a) for n, a in enumerate(self.standby))):
            yield from keys.problems(f"{setting}{place}.api_key_env", address.api_key_env)


class Endpoint(Asking):
    """How a guide asks, and how much it may ask."""

    tokens_per_hour: int | None = Field(None, ge=1)
    """Prompt and completion tokens in any hour, of one mentor process; beyond, asking fails at once."""
    tokens_per_run: int | None = Field(None, ge=1)
    """Prompt and completion tokens in all."""


def override(common: Asking, table: Mapping[str, Any], setting: str) -> Asking:
    """The common settings with some replaced. Raises ConfigError.

    Key, bound, prices and standbys belong to the endpoint they stand beside: a table that names another does
    not take them over, so that no key goes to a stranger; nor are prices those of another model.
    """
    belongings = set(Address.model_fields) | {"standby", "spread"} if "base_url" in table else set[str]()
    prices = {"input_price", "output_price"} if "model" in table else set[str]()
    kept = set(Asking.model_fields) - belongings - prices
    return parse_section(Asking, common.model_dump(include=kept, exclude_unset=True) | dict(table), setting)

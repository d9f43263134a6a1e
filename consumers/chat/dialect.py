"""Which optional parameters an endpoint takes for a model: learnt from what it refuses. No I/O."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from consumers.chat.settings import Asking, Structured

Schema = Mapping[str, Any]
"""A JSON schema of an object, within what strict structured outputs allow."""


def object_of(**properties: Any) -> Schema:
    """An object's schema as strict structured outputs want it: every field required, none beside them."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_STEPS = {"json_schema": "json_object", "json_object": "off"}
_FORMAT = re.compile(r"response_format|json_?schema|json_?object|structured|guided|grammar|schema")
_OVERFLOW = re.compile(
    r"context[ _-]?(?:length|size|window)|maximum context|too many tokens|prompt is too long"
)


@dataclass(frozen=True)
class Dialect:
    """How a request is spelt."""

    form: str = "json_schema"
    """What the endpoint is told of the reply's form: json_schema, json_object or off."""
    negotiable: bool = True
    limit: str = "max_tokens"
    """Its name for the longest reply: newer models of OpenAI know `max_completion_tokens` only."""
    temperature: bool = True
    """Those, and others that think, take no temperature."""

    def __str__(self) -> str:
        form = "no response_format" if self.form == "off" else f"response_format {self.form}"
        return f"{form}, {self.limit} and {'a' if self.temperature else 'no'} temperature"

    def options(self, asking: Asking, schema: Schema | None) -> dict[str, Any]:
        """The optional part of a request."""
        options: dict[str, Any] = {self.limit: asking.max_tokens}
        if self.temperature:
            options["temperature"] = asking.temperature
        if schema is not None and self.form != "off":
            options["response_format"] = _response_format(self.form, schema)
        return options

    def after(self, status: int, said: str) -> "Dialect | None":
        """The dialect to try after a refusal in these words, None when nothing optional is to blame.

        A plain 400 blames the form last: some servers refuse it without naming it.
        """
        if status not in (400, 404, 422, 501):
            return None
        if self.limit == "max_tokens" and "max_tokens" in said:
            return replace(self, limit="max_completion_tokens")
        if self.temperature and "temperature" in said:
            return replace(self, temperature=False)
        if self.negotiable and self.form in _STEPS and (status == 400 or _FORMAT.search(said)):
            return replace(self, form=_STEPS[self.form])
        return None


def first_dialect(structured: Structured) -> Dialect:
    """What an endpoint is asked in before anything is known of it."""
    return Dialect(
        form="json_schema" if structured == "auto" else structured, negotiable=structured == "auto"
    )


def overflows(status: int, said: str) -> bool:
    """Whether a refusal says that the request does not fit the model's context."""
    return status == 413 or (status in (400, 422) and _OVERFLOW.search(said) is not None)


def _response_format(form: str, schema: Schema) -> dict[str, Any]:
    if form == "json_object":
        return {"type": "json_object"}
    return {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": schema},
    }

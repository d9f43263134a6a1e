"""What is in an endpoint's response: nothing of it can be relied on. No I/O."""

from collections.abc import Mapping
from typing import Any, TypeGuard, cast

from consumers.chat.retries import Failure, Kind


def is_completion(response: object) -> bool:
    """Whether there is a choice: HTML, an error object and none at all were seen with status 200 too."""
    return bool(_choice(response))


def text_of(response: object, max_tokens: int) -> str:
    """The first choice's text. Raises Failure. Thinking is not the reply."""
    choice = _choice(response)
    message = _table(choice.get("message"))
    if choice.get("finish_reason") == "content_filter":
        raise Failure("the endpoint's content filter stopped the reply", Kind.REPLY)
    content = message.get("content")
    if isinstance(content, str) and content.strip():
        return content
    if message.get("refusal"):
        raise Failure("the model refused to reply", Kind.REPLY)
    thought = any(message.get(name) for name in ("reasoning_content", "reasoning"))
    cut = f", cut off at max_tokens = {max_tokens}" if is_cut(response) else ""
    raise Failure(f"the reply is {'thinking only' if thought else 'empty'}{cut}", Kind.REPLY)


def is_cut(response: object) -> bool:
    """Whether the reply ended because it may not be longer."""
    return _choice(response).get("finish_reason") == "length"


def tokens_of(response: object) -> tuple[int, int] | None:
    """The prompt and completion tokens that the endpoint says it used; None when it says nothing sensible.

    Servers were seen to say NaN, null and less than 0.
    """
    said = _table(_table(response).get("usage"))
    prompt, completion = said.get("prompt_tokens"), said.get("completion_tokens")
    return (prompt, completion) if _is_count(prompt) and _is_count(completion) else None


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _choice(response: object) -> Mapping[str, Any]:
    choices = _table(response).get("choices")
    return _table(choices[0]) if isinstance(choices, list) and choices else {}


def _table(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}

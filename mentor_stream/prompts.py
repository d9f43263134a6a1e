"""How a question, and a hint before it, become the text a policy is prompted with.

The rollout worker and the mentor's length check must agree on it, so it lives here.
"""

from typing import ClassVar, TypedDict

from pydantic import Field, field_validator

from mentor_stream.config import Section


class ChatMessage(TypedDict):
    """One turn of a conversation."""

    role: str
    content: str


class PromptConfig(Section):
    """Section [prompt]."""

    table: ClassVar[str] = "prompt"

    template: str = "{question}"
    """The user's turn; {question} is replaced."""
    hint_template: str = "Hint: {hint}\n\n{question}"
    """What takes the question's place when there is a hint; {hint} and {question} are replaced."""
    system: str | None = None
    """A system message, for tokenizers with a chat template."""
    max_prompt_tokens: int = Field(1024, ge=1)
    """Longest prompt that is sampled. A longer plain one is refused and counted; a hint that would exceed it
    is not used."""

    @field_validator("template", "hint_template")
    @classmethod
    def _names_question(cls, template: str) -> str:
        if "{question}" not in template:
            raise ValueError("the template must contain {question}")
        return template

    @field_validator("hint_template")
    @classmethod
    def _names_hint(cls, template: str) -> str:
        if "{hint}" not in template:
            raise ValueError("the template must contain {hint}")
        return template


def user_text(config: PromptConfig, question: str, hint: str | None) -> str:
    """The user's turn. Braces inside the question or the hint are text, never placeholders."""
    inner = question if hint is None else _fill(config.hint_template, hint=hint, question=question)
    return _fill(config.template, question=inner)


def conversation(config: PromptConfig, question: str, hint: str | None) -> list[ChatMessage]:
    """The messages for a chat template."""
    system = [ChatMessage(role="system", content=config.system)] if config.system else []
    return [*system, ChatMessage(role="user", content=user_text(config, question, hint))]


def _fill(template: str, **values: str) -> str:
    """Replace each {name} once from left to right, so that a value is never searched for placeholders."""
    out, rest = "", template
    while rest:
        starts = {name: rest.find("{" + name + "}") for name in values}
        found = {name: at for name, at in starts.items() if at >= 0}
        if not found:
            break
        name = min(found, key=lambda n: found[n])
        out += rest[: found[name]] + values[name]
        rest = rest[found[name] + len(name) + 2 :]
    return out + rest

"""How questions and hints become prompt text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mentor_stream.prompts import PromptConfig, conversation, user_text


def test_the_hint_stands_before_the_question() -> None:
    assert user_text(PromptConfig(), "2 + 2?", "Count.") == "Hint: Count.\n\n2 + 2?"
    assert user_text(PromptConfig(), "2 + 2?", None) == "2 + 2?"


def test_the_template_frames_a_hinted_question_as_a_plain_one() -> None:
    config = PromptConfig(template="Q: {question} A:")
    assert user_text(config, "2 + 2?", None) == "Q: 2 + 2? A:"
    assert user_text(config, "2 + 2?", "Count.") == "Q: Hint: Count.\n\n2 + 2? A:"


@given(question=st.text(), hint=st.text())
def test_braces_in_a_question_or_a_hint_are_only_text(question: str, hint: str) -> None:
    question, hint = question + "{hint}{question}", hint + "{question}"
    config = PromptConfig(template="<{question}>")
    assert user_text(config, question, hint) == f"<Hint: {hint}\n\n{question}>"


def test_a_system_message_comes_first() -> None:
    messages = conversation(PromptConfig(system="Be brief."), "2 + 2?", None)
    assert [(m["role"], m["content"]) for m in messages] == [("system", "Be brief."), ("user", "2 + 2?")]


@pytest.mark.parametrize("setting", [{"template": "Answer this."}, {"hint_template": "{question}"}])
def test_a_template_without_its_placeholder_is_refused(setting: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="must contain"):
        PromptConfig.model_validate(setting)

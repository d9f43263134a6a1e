from pathlib import Path

import pytest

from mentor_stream.config import ConfigError
from mentor_stream.prompts import PromptConfig
from producers.tokenizer import PolicyTokenizer
from tests.producers.conftest import BOS, EOS, WORDS, write_tokenizer

CHAT = (
    "{% for m in messages %}{% if m.role == 'system' %}Hint: {% endif %}{{ m.content }} </s>{% endfor %}"
    "{% if add_generation_prompt %}yes{% endif %}"
)


def words(ids: list[int]) -> str:
    return " ".join(WORDS[i] for i in ids)


def test_without_a_chat_template_a_prompt_is_plain_text_opened_by_the_tokenizer(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    tokenizer = PolicyTokenizer(tmp_path, PromptConfig())
    assert words(tokenizer.prompt("What is 2 + 3 ?")) == "<s> What is 2 + 3 ?"
    assert words(tokenizer.prompt("2 + 3 ?", "no 4")) == "<s> Hint: no 4 2 + 3 ?"


def test_a_chat_template_makes_the_prompt_and_opens_the_answer(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, chat_template=CHAT)
    tokenizer = PolicyTokenizer(tmp_path, PromptConfig(system="no"))
    assert words(tokenizer.prompt("2 + 3 ?")) == "Hint: no </s> 2 + 3 ? </s> yes"


def test_a_system_message_without_a_chat_template_is_refused(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    with pytest.raises(ConfigError, match=r"prompt\.system is 'Be brief'.*prompt\.template"):
        PolicyTokenizer(tmp_path, PromptConfig(system="Be brief"))


def test_a_tokenizer_that_closes_every_text_does_not_close_the_prompt(tmp_path: Path) -> None:
    from tokenizers import processors
    from transformers import AutoTokenizer

    write_tokenizer(tmp_path)
    closing = AutoTokenizer.from_pretrained(tmp_path)
    closing.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", BOS), ("</s>", EOS)]
    )
    closing.save_pretrained(tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path)("2").input_ids == [BOS, 6, EOS]
    assert words(PolicyTokenizer(tmp_path, PromptConfig()).prompt("2")) == "<s> 2"


def test_a_missing_pad_token_is_no_trouble(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, pad=None)
    assert PolicyTokenizer(tmp_path, PromptConfig()).prompt("2 + 3 ?")[0] == BOS


def test_a_completion_reads_without_its_special_tokens(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    assert PolicyTokenizer(tmp_path, PromptConfig()).text([6, 16, 7, EOS]) == "2 + 3"


def test_a_policy_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"run\.policy is .*tokenizer"):
        PolicyTokenizer(tmp_path, PromptConfig())

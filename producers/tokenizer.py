"""Questions to prompt ids and completions back to text, with the tokenizer that came with the policy.

It is loaded once and stays: the policy's weights change during a run, its tokens do not.
"""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mentor_stream.config import ConfigError
from mentor_stream.prompts import PromptConfig, conversation, user_text


class PolicyTokenizer:
    """The tokenizer of the Hugging Face directory `policy`, prompting as [prompt] says.

    Raises ConfigError when there is none or [prompt] asks for what it cannot do.
    """

    def __init__(self, policy: Path, prompt: PromptConfig) -> None:
        self._prompt = prompt
        self._tokenizer = _load(policy)
        self._chats = bool(self._tokenizer.chat_template)
        if prompt.system and not self._chats:
            raise ConfigError(
                f"prompt.system is {prompt.system!r}, but the tokenizer of {policy} has no chat template. "
                "Put the text into prompt.template instead."
            )

    def prompt(self, question: str, hint: str | None = None) -> list[int]:
        """Token ids [prompt]: by the chat template where there is one, otherwise plain text, opened as the
        tokenizer opens any text."""
        if self._chats:
            return self._tokenizer.apply_chat_template(
                conversation(self._prompt, question, hint),
                add_generation_prompt=True,
                tokenize=True,
                return_dict=False,
            )
        ids = self._tokenizer(user_text(self._prompt, question, hint)).input_ids
        # Some tokenizers also close every text, but this one is to be continued.
        return ids[:-1] if ids and ids[-1] == self._tokenizer.eos_token_id else ids

    def text(self, completion_ids: Sequence[int]) -> str:
        """What a completion says, without special tokens, every space as it was sampled."""
        return self._tokenizer.decode(
            list(completion_ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )


def check_tokenizer(policy: Path) -> None:
    """Raise ConfigError for tokenizer files that are damaged. Imports no transformers: quick."""
    try:
        if (settings := policy / "tokenizer_config.json").is_file():
            json.loads(settings.read_bytes())
        if (tokenizer := policy / "tokenizer.json").is_file() and find_spec("tokenizers"):
            from tokenizers import Tokenizer

            Tokenizer.from_file(str(tokenizer))
    except Exception as error:  # tokenizers raises no narrower one
        raise _unusable(policy, error) from error


def _load(policy: Path) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(policy, local_files_only=True)
    except Exception as error:  # tokenizers raises no narrower one
        raise _unusable(policy, error) from error


def _unusable(policy: Path, error: Exception) -> ConfigError:
    said = " ".join(str(error).split())
    return ConfigError(
        f"run.policy is {str(policy)!r}: its tokenizer cannot be loaded ({said}). Save one there with "
        "tokenizer.save_pretrained."
    )

"""Tiny policies: real Hugging Face directories that load in milliseconds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.models import a_model, a_tokenizer

WORDS = ("<pad>", "<s>", "</s>", "<unk>", *map(str, range(10)), "What", "is", "+", "?", "Hint:", "no", "yes")
PAD, BOS, EOS = 0, 1, 2


def write_tokenizer(path: Path, chat_template: str | None = None, pad: str | None = "<pad>") -> None:
    """Knows WORDS and starts every text with <s>."""
    tokenizer = a_tokenizer(WORDS, first="<s>", bos_token="<s>", eos_token="</s>", pad_token=pad)
    tokenizer.chat_template = chat_template
    tokenizer.save_pretrained(path)


def write_policy(path: Path, *, seed: int = 0, **settings: Any) -> None:
    """A random Llama over WORDS, wide awake: its logits differ enough for mistakes to show."""
    size = {"vocab_size": len(WORDS), "max_position_embeddings": 64}
    marks = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
    wanted: dict[str, Any] = size | marks | {"initializer_range": 0.4} | settings
    a_model(seed=seed, **wanted).save_pretrained(path)
    write_tokenizer(path)


@pytest.fixture(scope="session")
def tiny_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Llama with its tokenizer."""
    path = tmp_path_factory.mktemp("policy")
    write_policy(path)
    return path


@pytest.fixture
def policy_with(tmp_path: Path) -> Callable[..., Path]:
    """Makes further policies: policy_with(seed=1, vocab_size=...)."""

    def make(name: str = "other", **settings: Any) -> Path:
        write_policy(tmp_path / name, **settings)
        return tmp_path / name

    return make


@pytest.fixture
def anyio_backend() -> str:
    return "trio"

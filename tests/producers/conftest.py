"""Tiny policies: real Hugging Face directories that load in milliseconds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WORDS = ("<pad>", "<s>", "</s>", "<unk>", *map(str, range(10)), "What", "is", "+", "?", "Hint:", "no", "yes")
PAD, BOS, EOS = 0, 1, 2


def write_tokenizer(path: Path, chat_template: str | None = None, pad: str | None = "<pad>") -> None:
    """A WordLevel tokenizer over WORDS that starts every text with <s>."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    ids = {word: place for place, word in enumerate(WORDS)}
    tokenizer: Any = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", BOS)])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token=pad
    )
    fast.chat_template = chat_template
    fast.save_pretrained(path)


def write_policy(path: Path, *, seed: int = 0, **settings: Any) -> None:
    """A random Llama over WORDS, wide awake: its logits differ enough for mistakes to show."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    fixed = {"vocab_size": len(WORDS), "max_position_embeddings": 64, "initializer_range": 0.4}
    config = LlamaConfig(
        **(shape | fixed | {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD} | settings)
    )
    torch.manual_seed(seed)
    LlamaForCausalLM(config).save_pretrained(path)
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

"""Tiny random models and their tokenizers, to be saved as real Hugging Face directories."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

SHAPE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}


def a_model(family: str = "Llama", *, seed: int = 0, **settings: Any) -> "PreTrainedModel":
    """A model of a family of transformers; `settings` go to its config and win over SHAPE."""
    import torch
    import transformers

    config = getattr(transformers, f"{family}Config")(**(SHAPE | settings))
    torch.manual_seed(seed)
    return transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)


def a_tokenizer(
    words: Sequence[str], *, unknown: str = "<unk>", first: str | None = None, **settings: Any
) -> "PreTrainedTokenizerFast":
    """Knows these words between spaces, their ids being their places; every text begins with `first`."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    ids = {word: place for place, word in enumerate(words)}
    tokenizer: Any = Tokenizer(models.WordLevel(ids, unk_token=unknown))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.WordPiece()
    if first is not None:
        start = (first, ids[first])
        tokenizer.post_processor = processors.TemplateProcessing(single=f"{first} $A", special_tokens=[start])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token=unknown, **settings)

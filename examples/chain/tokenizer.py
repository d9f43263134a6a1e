"""The vocabulary of the chain task: one token a number (" 61"), one a signed operand (" +49").

The operand of a step then always stands eleven tokens before the value that it is applied to, with a hint
before the question or without: one attention offset serves every step.
"""

from typing import TYPE_CHECKING

from examples.chain.task import STEPS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
PAD, BOS, EOS, UNK = range(len(SPECIAL))
WORDS = ("\n", ".", "Hint:", " after", " step", " the", " value", " is", "Ops:", " Start:")
COUNTS = tuple(f" {step}" for step in range(1, STEPS))
VALUES = tuple(f" {n:02d}" for n in range(100))
ADDED = tuple(f" +{n:02d}" for n in range(100))
TAKEN = tuple(f" -{n:02d}" for n in range(100))
SIZE = 384
"""A multiple of 128, so that a vocabulary split over tensor-parallel ranks needs no padding."""

_USED = (*SPECIAL, *WORDS, *COUNTS, *VALUES, *ADDED, *TAKEN)
TOKENS = (*_USED, *(f"<r{n}>" for n in range(SIZE - len(_USED))))
"""Every token; its id is its place."""


def build() -> "PreTrainedTokenizerFast":
    """The tokenizer: prompts get `<s>` before them, and decoding gives back the very text."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    ids = {token: place for place, token in enumerate(TOKENS)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\n|\.| ?[^ .\n]+"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", BOS)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        clean_up_tokenization_spaces=False,
        model_max_length=64,
        padding_side="left",
    )

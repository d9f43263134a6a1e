"""Make the demo's policy: a small Llama taught by demonstrations that forget most carries.

`python -m examples.chain.warm_start DIRECTORY` takes about ten minutes on one core. Easy steps come out right
99.9 % of the time, steps with a carry 20 %, greedy decoding always forgets, and a given value is copied 99 %
of the time, because half of the batches are hinted.

The shipped policy was made by an earlier form of this script with the same settings: a new one equals it in
these figures, not in its weights, and may escape plain GRPO's zero by luck. Run the vanilla control again,
with several seeds, before comparing anything on it.
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - as everywhere

from examples.chain import task, tokenizer

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

STEPS, BATCH, WARM_UP = 2400, 96, 100
LEARNING_RATE = 2e-3
REMEMBERS = 0.2
"""How often a demonstration remembers a carry."""
HINTED = 0.5
"""Share of the batches with hints."""


class Demonstration(NamedTuple):
    """What the policy is shown once."""

    question: task.Question
    hint: task.Hint | None
    values: tuple[int, ...]

    @property
    def prompt(self) -> str:
        """The question, after its hint if it has one, exactly as in the demo's config."""
        return f"Hint: {self.hint}\n{self.question}" if self.hint else str(self.question)


class FactoredNumbers(nn.Module):
    """Input and output embeddings in which a number is its kind + its tens + its units.

    Free rows for 300 numbers do not learn to add in ten minutes. Only training uses the factors:
    `write_to` leaves ordinary tables behind.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.parts = _number_parts()
        count = self.parts.shape[1]
        self.inputs = nn.Parameter(torch.randn(count, hidden) * 0.5)
        self.outputs = nn.Parameter(torch.randn(count, hidden) / math.sqrt(hidden))

    def logits(self, model: "LlamaForCausalLM", ids: Tensor) -> Tensor:
        """Next-token logits [batch, tokens, vocabulary] after ids [batch, tokens]."""
        embedded = F.embedding(ids, self.parts @ self.inputs)
        hidden = model.model(inputs_embeds=embedded, use_cache=False).last_hidden_state
        assert hidden is not None
        return hidden @ (self.parts @ self.outputs).T

    @torch.no_grad()
    def write_to(self, model: "LlamaForCausalLM") -> None:
        """Set the model's own tables to what the factors make of every token."""
        model.model.embed_tokens.weight.copy_(self.parts @ self.inputs)
        model.lm_head.weight.copy_(self.parts @ self.outputs)


def _number_parts() -> Tensor:
    """Which parts each token is made of [vocabulary, parts]: numbers three, every other token its own."""
    kinds = (tokenizer.VALUES, tokenizer.ADDED, tokenizer.TAKEN)
    size = len(tokenizer.TOKENS)
    parts = torch.zeros(size, size + len(kinds) + 20)
    parts[:, :size] = torch.eye(size)
    for kind, numbers in enumerate(kinds):
        first = tokenizer.TOKENS.index(numbers[0])
        for number in range(100):
            row = parts[first + number].zero_()
            row[size + kind] = row[size + 3 + number // 10] = row[size + 13 + number % 10] = 1
    return parts


def demonstrations(rng: Random) -> Iterator[list[Demonstration]]:
    """Batches for ever, each hinted or not as a whole, so that its prompts are equally long."""
    while True:
        hard_block, hinted = int(rng.random() * (task.HARD_BLOCK + 1)), rng.random() < HINTED
        yield [demonstrate(task.random_question(rng, hard_block), rng, hinted) for _ in range(BATCH)]


def demonstrate(question: task.Question, rng: Random, hinted: bool) -> Demonstration:
    """An attempt that forgets most carries; a hinted one states the given value at its step."""
    step = 1 + int(rng.random() * (task.STEPS - 1))
    hint = task.Hint(step, question.values()[step - 1]) if hinted else None
    values, value = [], question.start
    for step, operand in enumerate(question.operands, start=1):
        remembers = rng.random() < REMEMBERS
        value = operand.apply(value) if remembers else operand.apply_forgetfully(value)
        if hint and step == hint.step:
            value = hint.value
        values.append(value)
    return Demonstration(question, hint, tuple(values))


def new_model(seed: int) -> "LlamaForCausalLM":
    """0.74 M parameters; heads, layers and vocabulary divide by tensor-parallel sizes 1, 2 and 4."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=tokenizer.SIZE,
            hidden_size=128,
            intermediate_size=384,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            rms_norm_eps=1e-5,
            rope_parameters={"rope_type": "default", "rope_theta": 100.0},
            tie_word_embeddings=False,
            pad_token_id=tokenizer.PAD,
            bos_token_id=tokenizer.BOS,
            eos_token_id=tokenizer.EOS,
        )
    )
    for weight in model.parameters():
        if weight.dim() > 1:
            nn.init.normal_(weight, std=1 / math.sqrt(weight.shape[1]))
    return model


def train(model: "LlamaForCausalLM", words: "PreTrainedTokenizerFast", steps: int, seed: int) -> None:
    """Next-token training on the completions alone."""
    numbers = FactoredNumbers(model.config.hidden_size)
    tables = {id(model.model.embed_tokens.weight), id(model.lm_head.weight)}
    weights = [p for p in model.parameters() if id(p) not in tables] + list(numbers.parameters())
    optimizer = torch.optim.AdamW(weights, lr=LEARNING_RATE, weight_decay=0.01, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate(step, steps))
    for step, batch in zip(range(1, steps + 1), demonstrations(Random(seed)), strict=False):
        ids, completion = encode(words, batch)
        logits = numbers.logits(model, ids[:, :-1])[:, -completion:]
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, -completion:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"step {step} of {steps}: loss {loss.item():.4f}", flush=True)
    numbers.write_to(model)


def learning_rate(step: int, steps: int) -> float:
    """Linear warm-up, then a cosine down to 2 %, as a share of the peak."""
    return min(1.0, (step + 1) / WARM_UP) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / steps)))


def encode(words: "PreTrainedTokenizerFast", batch: Sequence[Demonstration]) -> tuple[Tensor, int]:
    """Token ids [batch, tokens] of prompts and completions, and how many of the tokens are completion."""
    texts = [d.prompt + task.completion(d.values) + "</s>" for d in batch]
    return torch.tensor(words(texts)["input_ids"]), task.STEPS + 1


@torch.no_grad()
def success(
    model: "LlamaForCausalLM", words: "PreTrainedTokenizerFast", questions: list[task.Question], *, given: int
) -> float:
    """Share of sampled attempts without an error of their own, after the value of step `given` was told."""
    hints = [task.Hint(given, q.values()[given - 1]) if given else None for q in questions]
    prompts = [Demonstration(q, hint, ()).prompt for q, hint in zip(questions, hints, strict=True)]
    ids = torch.tensor(words(prompts)["input_ids"])
    prompt = ids.shape[1]
    for _ in range(task.STEPS):
        last = model(ids).logits[:, -1]
        ids = torch.cat([ids, torch.multinomial(last.softmax(-1), 1)], dim=1)
    texts = words.batch_decode(ids[:, prompt:])
    attempts = zip(questions, map(task.parse_completion, texts), strict=True)
    right = [not task.own_errors(q, v, given) and v[-1] == q.values()[-1] for q, v in attempts]
    return sum(right) / len(right)


def main() -> None:
    """Train, report, and write a Hugging Face directory."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("directory", type=Path)
    options.add_argument("--steps", type=int, default=STEPS)
    options.add_argument("--seed", type=int, default=0)
    options = options.parse_args()
    torch.set_num_threads(1)
    words, model = tokenizer.build(), new_model(options.seed)
    train(model, words, options.steps, options.seed)
    rng = Random(options.seed + 1)
    held_out = [task.random_question(rng) for _ in range(500)]
    for given in (0, 4, 8):
        print(
            f"success with {given or 'no'} values given: {success(model, words, held_out, given=given):.3f}"
        )
    model.save_pretrained(options.directory)
    words.save_pretrained(options.directory)


if __name__ == "__main__":
    main()

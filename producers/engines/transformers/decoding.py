"""Many completions at once from a causal language model, with a key-value cache.

Prompts are padded on the left, each is read once and its cache is copied to the samples drawn from it.
Scores are kept for the present step only, never [rows, steps, vocabulary].

Shapes: B prompts, R rows (prompts x samples), S sequence so far, T new tokens, V vocabulary.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from producers.engines.transformers.choice import choose
from schemas import Sampling


class Completion(NamedTuple):
    """Token ids and log-probs [tokens] of one row; `stopped` when the last token is a stop token."""

    ids: list[int]
    logprobs: list[float]
    stopped: bool


class Context:
    """What the model has read of each row: the cache, which places are padding, the next position."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], room: int) -> None:
        self.model = model
        self.ids_BS, visible_BS = left_padded(prompts)
        ahead_BT = torch.ones(len(prompts), room, dtype=torch.long)
        self.visible = torch.cat([visible_BS, ahead_BT], dim=1).to(model.device)
        self.positions = (visible_BS.cumsum(1) - 1).clamp(min=0).to(model.device)
        self.seen = 0
        self.cache: Any = None
        # The argument was renamed within transformers 5.
        accepted = inspect.signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in accepted else "past_key_values"
        self._optional = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}
        self._takes_positions = "position_ids" in accepted

    def read_prompts(self) -> Tensor:
        """Logits [prompts, vocabulary] after each prompt."""
        return self.read(self.ids_BS.to(self.model.device))

    def read(self, ids_RN: Tensor) -> Tensor:
        """Logits [rows, vocabulary] after these further ids of each row."""
        self.seen += ids_RN.shape[1]
        extra = {"position_ids": self.positions} if self._takes_positions else {}
        output = self.model(
            input_ids=ids_RN,
            attention_mask=self.visible[:, : self.seen],
            use_cache=True,
            return_dict=True,
            **{self._cache_name: self.cache},
            **extra,
            **self._optional,
        )
        self.cache = output[self._cache_name]
        self.positions = self.positions[:, -1:] + 1
        return output.logits[:, -1]

    def select(self, rows: Tensor) -> None:
        """Go on with these rows; one may be named several times."""
        self.cache.reorder_cache(rows)  # made for beam search; the one selection that every kind of cache has
        self.visible, self.positions = self.visible[rows], self.positions[rows]


@torch.inference_mode()
def decode(
    model: Any,
    prompts: Sequence[Sequence[int]],
    sampling: Sampling,
    stop_ids: Sequence[int],
    draws_RT: Tensor,
    each_step: Callable[[], None] = lambda: None,
) -> list[Completion]:
    """Completions of each prompt [rows], a prompt's samples side by side.

    `draws_RT` holds one uniform number in [0, 1) for every token that may be sampled, so a row's
    completion does not depend on which other rows share its batch or have finished. `each_step` is
    called before every token and may raise to give up.
    """
    device = model.device
    R, T = draws_RT.shape
    samples, draws_RT = R // len(prompts), draws_RT.to(device)
    stop = torch.tensor(list(stop_ids), dtype=torch.long, device=device)
    tokens_RT = torch.zeros(R, T, dtype=torch.long, device=device)
    logprobs_RT = torch.zeros(R, T, device=device)
    lengths_R = torch.full((R,), T, device=device)
    rows = torch.arange(R, device=device)
    going = torch.ones(R, dtype=torch.bool, device=device)

    context = Context(model, prompts, room=T)
    prompt_of_R = torch.arange(len(prompts), device=device).repeat_interleave(samples)
    logits_RV = context.read_prompts()[prompt_of_R]
    context.select(prompt_of_R)
    for step in range(T):
        each_step()
        chosen, logprobs = choose(logits_RV, sampling, draws_RT[rows, step])
        tokens_RT[rows, step], logprobs_RT[rows, step] = chosen, logprobs
        stopping = going & torch.isin(chosen, stop)
        lengths_R[rows[stopping]] = step + 1
        going = going & ~stopping
        left = int(going.sum())
        if left == 0 or step + 1 == T:
            break
        # Finished rows ride along masked out of the result until half the batch is finished: a copy of
        # the cache each time one finishes would cost more than it saves.
        if 2 * left <= len(rows):
            kept = going.nonzero()[:, 0]
            context.select(kept)
            rows, going, chosen = rows[kept], going[kept], chosen[kept]
        logits_RV = context.read(chosen[:, None])
    return _completions(tokens_RT, logprobs_RT, lengths_R, stop)


def _completions(tokens_RT: Tensor, logprobs_RT: Tensor, lengths_R: Tensor, stop: Tensor) -> list[Completion]:
    """The rows as lists, each up to its length. Raises FloatingPointError when a log-prob is no number."""
    last_R1 = tokens_RT.gather(1, lengths_R[:, None] - 1)
    stopped = torch.isin(last_R1[:, 0], stop).tolist()
    lengths, tokens, logprobs = lengths_R.tolist(), tokens_RT.tolist(), logprobs_RT.tolist()
    rows = [
        Completion(ids[:n], scores[:n], end)
        for ids, scores, n, end in zip(tokens, logprobs, lengths, stopped, strict=True)
    ]
    if not bool(logprobs_RT.isfinite().all()):
        raise FloatingPointError("the policy's log-probs are not finite: its weights or its dtype are broken")
    return rows


def left_padded(prompts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Ids and visibility (1 a token, 0 padding) [prompts, longest], on the CPU. No prompt may be empty."""
    longest = max(map(len, prompts))
    if min(map(len, prompts)) == 0:
        raise ValueError("an empty prompt: the model needs at least one token to start from")
    ids = torch.tensor([[0] * (longest - len(p)) + list(p) for p in prompts], dtype=torch.long)
    visible = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts], dtype=torch.long)
    return ids, visible

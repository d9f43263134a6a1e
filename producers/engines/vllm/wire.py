"""What a server is asked and what it answers: requests made and replies read. Pure.

The route is vLLM's /inference/v1/generate: token ids in, token ids out, no text anywhere.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from producers.engines.base import Sample
from schemas import FinishReason, Sampling, VersionRun

FLOOR = -9999.0
"""What vLLM writes for a log-prob that is none."""
TOKEN_BYTES, REPLY_BYTES = 512, 2**16
"""More than a token takes in a reply, and than all the rest of it."""
FINISHED = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}


class Garbled(Exception):
    """A reply that is none of ours."""


class Foreign(Exception):
    """Tokens that were sampled with weights that we did not load: whose they are, nobody knows."""


class Span(msgspec.Struct):
    """Tokens [start, end) of a completion and the label of the weights that sampled them."""

    version: str
    start: int
    end: int


class Token(msgspec.Struct):
    """The log-prob that a token was sampled with."""

    token_id: int
    logprob: float


class Logprobs(msgspec.Struct):
    """One for each token."""

    content: list[Token]


class Choice(msgspec.Struct):
    """One completion."""

    index: int
    token_ids: list[int]
    finish_reason: str | None = None
    logprobs: Logprobs | None = None
    weight_versions: list[Span] | None = None


class Reply(msgspec.Struct):
    """All completions of a request."""

    choices: list[Choice]


def request(
    prompt: Sequence[int],
    *,
    samples: int,
    sampling: Sampling,
    max_new_tokens: int,
    stop_ids: Sequence[int],
    seed: int | None,
) -> dict[str, Any]:
    """The body to post. All is said, so that no default of a server or of a model's directory counts.

    The server counts the seed up from sample to sample and takes 63 bits; None leaves the draws to it.
    """
    return {
        "token_ids": list(prompt),
        "sampling_params": {
            "n": samples,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "max_tokens": max_new_tokens,
            "stop_token_ids": list(stop_ids),
            "ignore_eos": True,  # the stop ids are all there are
            "logprobs": 0,  # of the sampled token alone
            "seed": None if seed is None else seed % 2**62,
            "detokenize": False,
        },
    }


def longest_reply(samples: int, max_new_tokens: int) -> int:
    """Bytes beyond which a reply is not read."""
    return REPLY_BYTES + samples * max_new_tokens * TOKEN_BYTES


def read(reply: bytes, samples: int, max_new_tokens: int, versions: Mapping[str, int]) -> list[Sample]:
    """The completions that are whole; those that were aborted are left out.

    `versions` are the policy versions of the labels that we gave. Raises Garbled, Foreign, and
    FloatingPointError when a log-prob is no number.
    """
    try:
        choices = msgspec.json.decode(reply, type=Reply).choices
    except (ValueError, RecursionError) as error:
        raise Garbled(f"the reply is no list of completions ({error})") from error
    if len(choices) > samples or len({choice.index for choice in choices}) < len(choices):
        raise Garbled(f"{len(choices)} completions came for {samples}, or one came twice")
    return [
        _sample(choice, max_new_tokens, versions)
        for choice in sorted(choices, key=lambda choice: choice.index)
        if choice.finish_reason in FINISHED
    ]


def _sample(choice: Choice, max_new_tokens: int, versions: Mapping[str, int]) -> Sample:
    ids, scores = choice.token_ids, choice.logprobs.content if choice.logprobs else []
    if not 0 < len(ids) <= max_new_tokens:
        raise Garbled(f"{len(ids)} tokens where 1 to {max_new_tokens} were asked for")
    if [score.token_id for score in scores] != ids:
        raise Garbled(f"{len(scores)} log-probs that are not of the {len(ids)} tokens")
    logprobs = [score.logprob for score in scores]
    if not all(FLOOR < logprob <= 1e-3 and math.isfinite(logprob) for logprob in logprobs):
        raise FloatingPointError("the policy's log-probs are not finite: its weights or its dtype are broken")
    return Sample(
        completion_ids=ids,
        logprobs=[min(logprob, 0.0) for logprob in logprobs],
        policy=_runs(choice.weight_versions or [], len(ids), versions),
        finish_reason=FINISHED[choice.finish_reason or ""],
    )


def _runs(spans: Sequence[Span], tokens: int, versions: Mapping[str, int]) -> tuple[VersionRun, ...]:
    """Policy versions as run lengths that cover the tokens."""
    ends = [0, *(span.end for span in spans)]
    if [span.start for span in spans] != ends[:-1] or ends[-1] != tokens:
        raise Garbled(f"weight versions that do not cover the {tokens} tokens")
    runs: list[VersionRun] = []
    for span in spans:
        if span.version not in versions:
            raise Foreign(f"tokens were sampled with weights {span.version[:60]!r}, which we did not load")
        version, count = versions[span.version], span.end - span.start
        if count and runs and runs[-1].policy_version == version:
            count += runs.pop().count
        if count:
            runs.append(VersionRun(policy_version=version, count=count))
    return tuple(runs)

"""Log-probabilities and entropies in chunks, against the formula in float64."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from trainer.model import vocabulary
from trainer.model.vocabulary import Share, token_scores

WORDS, HIDDEN = 37, 8


def inputs(tokens: int, words: int = WORDS, *, seed: int = 0, scale: float = 1.0) -> tuple[Tensor, ...]:
    random = torch.Generator().manual_seed(seed)
    hidden = torch.randn(tokens, HIDDEN, generator=random) * scale
    weight = torch.randn(words, HIDDEN, generator=random)
    targets = torch.randint(0, words, (tokens,), generator=random)
    return hidden, weight, targets, torch.rand(tokens, generator=random) + 0.5


def reference(hidden: Tensor, weight: Tensor, targets: Tensor, temperature: Tensor) -> tuple[Tensor, Tensor]:
    logprobs = torch.log_softmax(hidden @ weight.t() / temperature[:, None], -1)
    return logprobs.gather(1, targets[:, None])[:, 0], -(logprobs.exp() * logprobs).sum(-1)


def gradients(function: object, hidden: Tensor, weight: Tensor, *rest: Tensor) -> list[Tensor]:
    """Of a sum that weighs every token's log-probability and entropy differently."""
    hidden, weight = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
    logprobs, entropy = function(hidden, weight, *rest)
    weights = torch.linspace(-1, 1, len(logprobs), dtype=logprobs.dtype)
    ((logprobs * weights).sum() + (entropy * weights.flip(0)).sum()).backward()
    assert hidden.grad is not None
    assert weight.grad is not None
    return [logprobs.detach(), entropy.detach(), hidden.grad, weight.grad]


def doubled(*tensors: Tensor) -> list[Tensor]:
    return [t.double() if t.is_floating_point() else t for t in tensors]


@pytest.fixture(params=[1, 3, 1000], ids=lambda tokens: f"{tokens} at once")
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "CHUNK_LOGITS", request.param * WORDS)


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("tokens", [1, 2, 7, 12])
def test_scores_and_gradients_are_those_of_the_formula(tokens: int) -> None:
    given_ = inputs(tokens)
    ours = gradients(lambda *x: token_scores(*x, Share(0, WORDS)), *given_)
    for found, wanted in zip(ours, gradients(reference, *doubled(*given_)), strict=True):
        assert torch.allclose(found.double(), wanted, atol=2e-6, rtol=1e-5)


@given(st.integers(0, 1000), st.sampled_from([0.01, 1.0, 30.0, 1000.0]))
def test_no_scale_of_logits_gives_anything_but_numbers(seed: int, scale: float) -> None:
    found = gradients(lambda *x: token_scores(*x, Share(0, WORDS)), *inputs(5, seed=seed, scale=scale))
    wanted = gradients(reference, *doubled(*inputs(5, seed=seed, scale=scale)))
    for ours, theirs in zip(found, wanted, strict=True):
        assert torch.isfinite(ours).all()
        assert torch.allclose(ours.double(), theirs, atol=1e-4 * scale + 1e-5, rtol=1e-4)


@pytest.mark.usefixtures("chunk")
def test_words_that_only_fill_the_table_have_no_probability_and_no_gradient() -> None:
    hidden, weight, targets, temperature = inputs(6)
    filled = torch.cat([weight, torch.full((3, HIDDEN), 50.0)])
    ours = gradients(lambda *x: token_scores(*x, Share(0, WORDS)), hidden, filled, targets, temperature)
    wanted = gradients(reference, *doubled(hidden, weight, targets, temperature))
    assert torch.equal(ours[3][WORDS:], torch.zeros(3, HIDDEN))
    ours[3] = ours[3][:WORDS]
    for found, theirs in zip(ours, wanted, strict=True):
        assert torch.allclose(found.double(), theirs, atol=2e-6, rtol=1e-5)


def test_no_tokens_have_no_scores_and_zero_gradients() -> None:
    found = gradients(lambda *x: token_scores(*x, Share(0, WORDS)), *inputs(0))
    assert [len(tensor) for tensor in found] == [0, 0, 0, WORDS]
    assert not found[3].any()


def test_bf16_is_scored_in_float32_over_its_own_logits() -> None:
    hidden, weight, targets, temperature = inputs(9)
    ours = gradients(
        lambda *x: token_scores(*x, Share(0, WORDS)),
        hidden.bfloat16(),
        weight.bfloat16(),
        targets,
        temperature,
    )
    wanted = gradients(reference, *doubled(hidden, weight, targets, temperature))
    assert [t.dtype for t in ours] == [torch.float32, torch.float32, torch.bfloat16, torch.bfloat16]
    for found, theirs in zip(ours, wanted, strict=True):
        assert torch.allclose(found.double(), theirs, atol=0.1, rtol=0.05)


def test_ranks_that_share_the_words_have_the_scores_of_one_and_its_gradients_between_them() -> None:
    """Threads stand for ranks: the collective sums what they bring."""
    import torch.distributed as dist

    words, tokens, ranks = 24, 7, 3
    hidden, weight, targets, temperature = inputs(tokens, words)
    store = dist.HashStore()

    def on(rank: int) -> list[Tensor]:
        group = dist.ProcessGroupGloo(dist.PrefixStore("words", store), rank, ranks)
        share = Share(rank * words // ranks, words // ranks, group)
        own = weight[share.first : share.first + share.words]
        return gradients(lambda *x: token_scores(*x, share), hidden, own, targets, temperature)

    with ThreadPoolExecutor(ranks) as threads:
        results = list(threads.map(on, range(ranks)))
    logprobs, entropy, by_hidden, by_weight = gradients(
        reference, *doubled(hidden, weight, targets, temperature)
    )
    for found in results:
        assert torch.allclose(found[0].double(), logprobs, atol=2e-6)
        assert torch.allclose(found[1].double(), entropy, atol=2e-6)
    summed = torch.stack([found[2] for found in results]).sum(0)
    assert torch.allclose(summed.double(), by_hidden, atol=2e-6)
    assert torch.allclose(torch.cat([found[3] for found in results]).double(), by_weight, atol=2e-6)

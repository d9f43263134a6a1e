import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from producers.engines.transformers.choice import choose, inverse_cdf, truncated
from schemas import Sampling

LOGITS = torch.tensor([[2.0, 1.0, 0.5, -1.0, -30.0]])


def frequencies(sampling: Sampling, draws: int = 20_000) -> torch.Tensor:
    dice = torch.Generator().manual_seed(1)
    uniform = torch.rand(draws, dtype=torch.float64, generator=dice)
    tokens, _ = choose(LOGITS.expand(draws, -1), sampling, uniform)
    return torch.bincount(tokens, minlength=5).double() / draws


def chi_square(seen: torch.Tensor, wanted: torch.Tensor, draws: int = 20_000) -> float:
    possible = wanted > 1e-9
    return float((draws * (seen - wanted)[possible] ** 2 / wanted[possible]).sum())


def test_tokens_come_as_often_as_the_tempered_distribution_says() -> None:
    wanted = (LOGITS[0].double() / 1.3).softmax(-1)
    assert chi_square(frequencies(Sampling(temperature=1.3)), wanted) < 18.5  # 4 degrees, p = 0.001
    assert chi_square(frequencies(Sampling(temperature=1.0)), wanted) > 100  # another temperature is noticed


def test_top_k_and_top_p_cut_the_tail_and_keep_the_proportions_of_the_rest() -> None:
    top2 = torch.tensor([math.exp(2), math.exp(1), 0, 0, 0]).double()
    seen = frequencies(Sampling(temperature=1.0, top_k=2))
    assert chi_square(seen, top2 / top2.sum()) < 10.8  # 1 degree, p = 0.001
    assert seen[2:].sum() == 0
    # softmax is .60 .22 .13 .03: two tokens reach .8
    assert frequencies(Sampling(temperature=1.0, top_p=0.8))[2:].sum() == 0
    assert frequencies(Sampling(temperature=1.0, top_p=0.85))[2] > 0


def test_top_p_keeps_the_likeliest_token_however_small_it_is() -> None:
    kept = truncated(LOGITS, top_k=0, top_p=1e-9)
    assert kept.isfinite().tolist() == [[True, False, False, False, False]]


def test_greedy_takes_the_likeliest_token_with_the_logprob_of_temperature_one() -> None:
    token, logprob = choose(LOGITS, Sampling(temperature=0.0), torch.tensor([0.99], dtype=torch.float64))
    assert token.tolist() == [0]
    torch.testing.assert_close(logprob, LOGITS.log_softmax(-1)[:, 0])


@given(
    st.lists(st.sampled_from([0.0, 1e-30, 1e-8, 0.1, 0.5, 1.0]), min_size=1, max_size=8).filter(any),
    st.one_of(st.floats(0, 1, exclude_max=True), st.just(1 - 2**-53), st.just(0.0)),
)
def test_a_token_of_probability_zero_is_never_drawn(weights: list[float], draw: float) -> None:
    row = torch.tensor([weights], dtype=torch.float64)
    token = inverse_cdf(row / row.sum(), torch.tensor([draw], dtype=torch.float64))
    assert row[0, int(token)] > 0

"""How far the policy is from a reference: KL(policy, reference), estimated from the sampled tokens alone."""

from torch import Tensor

from trainer.config import KLEstimator
from trainer.grpo.surrogate import LOG_RATIO_BOUND


def kl_estimate(logprobs_N: Tensor, reference_N: Tensor, estimator: KLEstimator) -> Tensor:
    """Per token [tokens], with gradient to `logprobs_N`; of r = log reference - log policy:

    k1 = -r. k2 = r^2 / 2. k3 = e^r - 1 - r. J. Schulman, "Approximating KL divergence", 2020.
    As values k1 and k3 are without bias, and k2 and k3 never negative. As losses only k2 has the gradient of
    the divergence on samples of the policy itself; k3's (GRPO, arXiv 2402.03300, eq. 4) is its first-order
    approximation, and k1's is 0 in expectation: arXiv 2510.01555. Samples are taken as they are,
    whatever policy they came from. |r| is held within LOG_RATIO_BOUND.
    """
    log_ratio_N = (reference_N - logprobs_N).clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND)
    if estimator == "k1":
        return -log_ratio_N
    if estimator == "k2":
        return log_ratio_N.square() / 2
    return log_ratio_N.exp() - 1 - log_ratio_N

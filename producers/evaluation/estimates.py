"""What verdicts say of a model: accuracy, how sure of it one can be, and whether another one is better.

Questions are what is sampled from a world of questions, so uncertainty is over them, and the answers to one
question never count as several.
"""

from collections.abc import Mapping, Sequence
from math import comb
from typing import NamedTuple

import numpy as np

RESAMPLES = 10_000
LEVEL = 0.95
_BATCH = 2_000_000
"""Numbers drawn at a time, so that memory does not grow with the questions."""


class Interval(NamedTuple):
    """Where the true figure lies, in LEVEL of all cases."""

    low: float
    high: float


class Count(NamedTuple):
    """Of one question: answers that were judged, and right ones among them."""

    judged: int
    right: int

    @property
    def accuracy(self) -> float:
        """Share of right answers."""
        return self.right / self.judged


class Paired(NamedTuple):
    """One model against another on the questions that both were judged on."""

    questions: int
    difference: float
    """Of accuracies: above 0 the first is better."""
    interval: Interval | None
    p_value: float | None
    """How often chance alone makes as large a difference, if the two are equally good."""
    better: int
    worse: int
    """Questions on which the first has the higher and the lower accuracy."""


def accuracy(counts: Sequence[Count]) -> float:
    """Mean over questions of the share of right answers: pass@1, as avg@k where each has k."""
    return float(np.mean([count.accuracy for count in counts]))


def pass_at(k: int, counts: Sequence[Count]) -> float | None:
    """The chance that one of k answers is right; None when a question has fewer.

    Without bias: 1 - C(n - c, k) / C(n, k) for c right ones of n (Chen et al. 2021, arXiv 2107.03374).
    """
    if not counts or min(count.judged for count in counts) < k:
        return None
    misses = [comb(n - right, k) / comb(n, k) for n, right in counts]
    return 1 - float(np.mean(misses))


def interval(values: Sequence[float]) -> Interval | None:
    """Of the mean of one value a question, by the percentile bootstrap; None of fewer than two.

    Efron (1979). The same values give the same interval.
    """
    if len(values) < 2:
        return None
    from scipy.stats import bootstrap

    found = bootstrap(
        (np.asarray(values),), np.mean, n_resamples=RESAMPLES, confidence_level=LEVEL, method="percentile",
        batch=max(1, _BATCH // len(values)), rng=np.random.default_rng(0),
    )  # fmt: skip
    return Interval(float(found.confidence_interval.low), float(found.confidence_interval.high))


def paired(first: Mapping[str, Count], second: Mapping[str, Count]) -> Paired:
    """The first model against the second, by question.

    The p-value is of a two-sided permutation test: under equality each question's difference has either sign
    alike (Good 2005). Exact for few questions. Raises ValueError when they have no question in common.
    """
    common = [(first[name].accuracy, second[name].accuracy) for name in first if name in second]
    if not common:
        raise ValueError("no question in common")
    differences = np.array([one - other for one, other in common])
    return Paired(
        questions=len(common),
        difference=float(differences.mean()),
        interval=interval(differences.tolist()),
        p_value=_p_value(differences),
        better=int((differences > 0).sum()),
        worse=int((differences < 0).sum()),
    )


def _p_value(differences: np.ndarray) -> float | None:
    if len(differences) < 2:
        return None
    from scipy.stats import permutation_test

    found = permutation_test(
        (differences,), np.mean, permutation_type="samples", vectorized=True, n_resamples=RESAMPLES,
        batch=max(1, _BATCH // len(differences)), rng=np.random.default_rng(0),
    )  # fmt: skip
    return float(found.pvalue)

"""An evaluation in figures, as one JSON document."""

from collections.abc import Mapping, Sequence
from typing import Any

from mentor_stream.config import ConfigError
from producers.evaluation import estimates
from producers.evaluation.estimates import Count, Interval
from producers.evaluation.results import Asked

POWERS = (1, 2, 4, 8, 16, 32, 64, 128)
"""The k of pass@k, as far as there are answers."""


def figures(asked: Sequence[Asked], samples: int) -> dict[str, Any]:
    """Of one suite: avg@k with its interval, pass@k, and what could not be judged."""
    counts = [one.count for one in asked]
    judged = [count for count in counts if count.judged]
    tokens = [answer.tokens for one in asked for answer in one.answers]
    cut = [answer.finish_reason == "length" for one in asked for answer in one.answers]
    return {
        "questions": len(asked),
        "samples": samples,
        "unscorable_answers": sum(len(one.answers) for one in asked) - sum(c.judged for c in counts),
        "unscorable_questions": len(counts) - len(judged),
        "accuracy": estimates.accuracy(judged) if judged else None,
        "interval": _both(estimates.interval([count.accuracy for count in judged])),
        "pass": {str(k): estimates.pass_at(k, judged) for k in POWERS if k <= samples},
        "tokens_mean": sum(tokens) / len(tokens) if tokens else None,
        "cut_off": sum(cut) / len(cut) if cut else None,
    }


def comparison(name: str, asked: Sequence[Asked], other: Sequence[Asked]) -> dict[str, Any]:
    """One model against another on a suite. Raises ConfigError when they have no question in common."""
    try:
        found = estimates.paired(_by_question(asked), _by_question(other))
    except ValueError as error:
        raise ConfigError(
            f"--against: of suite {name} the two have {error}. Was it of other data?"
        ) from error
    return {
        "questions": found.questions,
        "difference": found.difference,
        "interval": _both(found.interval),
        "p_value": found.p_value,
        "better": found.better,
        "worse": found.worse,
    }


def _by_question(asked: Sequence[Asked]) -> Mapping[str, Count]:
    return {one.question_id: one.count for one in asked if one.count.judged}


def _both(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]

"""The judge's side inside a worker process: holds one verifier, judges the completions of a query."""

import math
import time
import traceback
from collections.abc import Callable
from typing import Any

import msgspec

import schemas
from mentor_stream import plugins
from mentor_stream.complaints import Complaints
from producers.rewards.base import REWARDS, Judgement, Reward, Unscorable

REMARK_CHARACTERS = 4000
"""Of a verifier's words: they travel with the group, and one that its topic does not take ends rollout."""


class Case(msgspec.Struct):
    """A request: one query as its record's bytes, and completions of it."""

    query: bytes
    completions: list[str]


class Report(msgspec.Struct):
    """A reply, per completion: the judgement, or why there is none, and the CPU time it took."""

    judgement: Judgement | None
    trouble: str
    cpu_seconds: float


def make(verifier: dict[str, Any]) -> Callable[[Any], list[Report]]:
    """The handler for a `[reward] verifier` table."""
    reward: Reward = plugins.build(REWARDS, verifier, "reward.verifier")
    complaints = Complaints()

    def handle(payload: Any) -> list[Report]:
        case = msgspec.convert(payload, Case)
        query = schemas.decode(case.query, schemas.Query)
        return [report_of(reward, query, completion, complaints) for completion in case.completions]

    return handle


def report_of(reward: Reward, query: schemas.Query, completion: str, complaints: Complaints) -> Report:
    """What the verifier makes of one completion. Only running out of memory is left to the worker.

    Where the verifier raised is printed, for each cause once in a while.
    """
    began = time.process_time()
    judgement, trouble = None, ""
    try:
        judgement = _checked(reward.score(query, completion))
    except MemoryError:
        raise
    except Unscorable as error:
        trouble = f"cannot be judged: {error}"
    except BaseException as error:  # SystemExit too: a verifier that leaves has not judged
        trouble = f"the verifier raised {type(error).__name__}: {error}"
        if complaints.hear(trouble, time.monotonic()):
            traceback.print_exc()
    return Report(judgement, _short(trouble), time.process_time() - began)


def _checked(judgement: Any) -> Judgement:
    """A reader's own verifier may return anything, numpy numbers among it."""
    if not isinstance(judgement, Judgement):
        raise TypeError(f"score returned {type(judgement).__name__}, expected a Judgement")
    reward = float(judgement.reward)
    if not math.isfinite(reward):
        raise ValueError(f"score returned reward {reward}")
    return Judgement(bool(judgement.right), reward, _short(str(judgement.remark)))


def _short(text: str) -> str:
    return text if len(text) <= REMARK_CHARACTERS else f"{text[: REMARK_CHARACTERS - 4]} ..."

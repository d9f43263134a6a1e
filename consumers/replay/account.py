"""What a replay came to, counted from what stands on its stream, and a digest of it."""

from collections import Counter
from hashlib import blake2b
from typing import Any

import schemas
from consumers.effort import effort
from mentor_stream import topics
from mentor_stream.stream import Stream
from schemas import Diagnosis, Query

_SPACE = 2**128


async def account(stream: Stream) -> dict[str, Any]:
    """Cases by outcome, calls, tokens, cost, seconds; and the digest of all lessons and diagnoses.

    The digest is a sum over records, so it does not depend on their order; repeats of a record count once.
    """
    digest, seen = 0, set[str]()
    outcomes: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    async with stream.reader(topics.GUIDED, start="earliest", follow=False, on_gap="earliest") as lessons:
        async for delivery in lessons:
            if delivery.record.query_id not in seen:
                seen.add(delivery.record.query_id)
                digest += _digest(delivery.record)
    async with stream.reader(
        topics.DIAGNOSES, start="earliest", follow=False, on_gap="earliest"
    ) as diagnoses:
        async for delivery in diagnoses:
            record = delivery.record
            if record.group_id not in seen:
                seen.add(record.group_id)
                digest += _digest(record)
                outcomes[record.outcome.value] += 1
                totals.update(_counted(record))
    return {
        "cases": outcomes.total(),
        "outcomes": dict(sorted(outcomes.items())),
        **{name: totals[name] for name in ("calls", "refined", "redrafted", "leaks", "errors")},
        **{name: totals[name] for name in ("prompt_tokens", "completion_tokens", "cost", "seconds")},
        "digest": f"{digest % _SPACE:032x}",
    }


def _counted(record: Diagnosis) -> dict[str, float]:
    """What a case adds to the account."""
    return {
        "calls": len(record.calls),
        **effort(record.calls)._asdict(),
        "errors": sum(call.error is not None for call in record.calls),
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "cost": record.cost,
        "seconds": record.seconds,
    }


def _digest(record: Query | Diagnosis) -> int:
    return int.from_bytes(blake2b(schemas.encode(record), digest_size=16).digest())

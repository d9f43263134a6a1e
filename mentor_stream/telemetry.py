"""What a component measures, on its way to the `metrics` topic."""

import os
import socket
import time
from collections.abc import Mapping

import schemas
from mentor_stream import topics
from mentor_stream.stream import Stream

INSTANCE = f"{socket.gethostname()}:{os.getpid()}"


async def report(stream: Stream, values: Mapping[str, float], *, policy_version: int | None = None) -> None:
    """Publish values measured together as one Metric of this component."""
    metric = schemas.Metric(
        component=stream.component,
        instance=INSTANCE,
        time=time.time(),
        policy_version=policy_version,
        values=dict(values) | ({"records_skipped": stream.records_skipped} if stream.records_skipped else {}),
    )
    await stream.publish(topics.METRICS, metric)

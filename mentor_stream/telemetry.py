"""What a component measures: on its way to the `metrics` topic, and to whoever scrapes it (metrics/)."""

import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio

import schemas
from mentor_stream import topics
from mentor_stream.broker import BrokerError, BrokerUnavailable
from mentor_stream.metrics import catalogue
from mentor_stream.metrics.catalogue import shared
from mentor_stream.metrics.health import BROKER
from mentor_stream.metrics.health import OWN as HEALTH
from mentor_stream.metrics.readings import INSTANCE
from mentor_stream.metrics.readings import OWN as READINGS
from mentor_stream.stream import Stream
from mentor_stream.topics import Topic

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
BEAT_SECONDS = 5.0
"""Between two reports of a component that may have nothing new to tell for long."""
LAST_SECONDS = 3.0
"""For the last metrics of a component that was asked to stop."""
BROKER_SILENCE = 20.0
"""Seconds without an answer after which a component is not ready."""


async def report(stream: Stream, values: Mapping[str, float], *, policy_version: int | None = None) -> None:
    """Publish values measured together as one Metric of this component; all of them are declared ones."""
    measured = dict(values)
    if stream.records_skipped:
        measured["records_skipped"] = stream.records_skipped
    _check(stream.component, measured)
    READINGS.report(stream.component, measured)
    if policy_version is not None:
        READINGS.set(shared.POLICY_VERSION, policy_version)
    metric = schemas.Metric(
        component=stream.component,
        instance=INSTANCE,
        time=time.time(),
        policy_version=policy_version,
        values=measured,
    )
    await stream.publish(topics.METRICS, metric)


async def offer(stream: Stream, values: Mapping[str, float], *, policy_version: int | None = None) -> bool:
    """`report`, for those who will do so again: whether the broker was there to take it.

    Nobody's work ends because a broker that is away does not hear how it goes.
    """
    try:
        await report(stream, values, policy_version=policy_version)
    except BrokerUnavailable as error:
        log.warning("metrics are not published: %s", error)
        return False
    return True


@asynccontextmanager
async def last(
    stream: Stream, values: Callable[[], Mapping[str, float]], version: Callable[[], int | None]
) -> AsyncGenerator[None]:
    """Around a component's work: what it has done since its last report is told too, however it ends.

    `values` are asked for after all of its work; none: there is nothing new. A broker that is away is waited
    for no longer than LAST_SECONDS.
    """
    try:
        yield
    finally:
        if found := values():
            await _tell_last(stream, found, version())


async def _tell_last(stream: Stream, values: Mapping[str, float], version: int | None) -> None:
    with anyio.move_on_after(LAST_SECONDS, shield=True) as waited:
        try:
            await report(stream, values, policy_version=version)
        except BrokerError as error:
            log.warning("the last metrics are not published: %s", error)
    if waited.cancelled_caught:
        log.warning("the last metrics are not published: no answer within %g s", LAST_SECONDS)


async def beat(stream: Stream) -> None:
    """Until cancelled: now and then a Metric without values, of a component that may have nothing to do.

    It shows that the process is there, beside those that have gone.
    """
    while True:
        await anyio.sleep(BEAT_SECONDS)
        await offer(stream, {})


def _check(component: str, values: Mapping[str, float]) -> None:
    """A component of somebody else's reports what it likes; it goes to the topic only."""
    if component in catalogue.COMPONENTS:
        unknown = [key for key in values if not catalogue.fed_by(component, key)]
        assert not unknown, (
            f"{component} reports what mentor_stream/metrics/catalogue does not have: {unknown}"
        )


async def watch(stream: Stream, *lagging: Topic[Any]) -> None:
    """Until cancelled: whether the broker answers, and how far the groups of these topics are behind."""
    while True:
        try:
            await stream.bounds(topics.METRICS)
            for topic in lagging:
                READINGS.set(shared.LAG, await stream.lag(topic), topic.name, topic.group or "")
            HEALTH.has(BROKER, within=BROKER_SILENCE)
        except BrokerError as error:
            HEALTH.lacks(BROKER, str(error))
        await anyio.sleep(LOOK_SECONDS)

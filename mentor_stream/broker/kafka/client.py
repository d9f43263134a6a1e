"""One kafka-python client and its rules: calls block, one at a time, and never on the event loop."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import anyio
from anyio import to_thread
from kafka import errors
from kafka.net.compat import KafkaNetClient

from mentor_stream.broker.base import BrokerError, BrokerUnavailable, MessageTooLarge, UnknownTopic
from mentor_stream.broker.kafka.settings import ENV_PREFIX, ConnectionSettings

K = TypeVar("K")
P = ParamSpec("P")
T = TypeVar("T")

POLL_SECONDS = 0.2
"""Nothing wakes a poll: it is also how long a cancelled client takes to notice."""
CLOSE_SECONDS = 5.0
"""Bound of each step of closing a client whose broker may be gone."""

RETRIABLE: type[errors.KafkaError] = errors.RetriableError  # pyright: ignore[reportAttributeAccessIssue]
"""Errors that may pass. (The type stubs in circulation are of kafka-python 2.)"""
_UNREACHABLE = (RETRIABLE, errors.IncompatibleBrokerVersion)
_UNKNOWN_TOPIC = (errors.UnknownTopicOrPartitionError, errors.InvalidTopicError)
_REFUSED = (
    errors.AuthorizationError,
    errors.SaslAuthenticationFailedError,
    errors.UnsupportedSaslMechanismError,
)
_TOO_LARGE = (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError)


class Client(Generic[K]):
    """A kafka-python client. A call is waited for even when cancelled, so two never meet inside it."""

    def __init__(self, raw: K, settings: ConnectionSettings, turn: anyio.CapacityLimiter) -> None:
        self.settings = settings
        self._raw, self._turn = raw, turn

    async def call(self, function: Callable[Concatenate[K, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`function(client, ...)` in the client's thread. Raises BrokerError for what Kafka complains of."""
        try:
            return await _in_thread(partial(function, self._raw, *args, **kwargs), self._turn)
        except errors.KafkaError as error:
            raise explained(error, self.settings) from error


@asynccontextmanager
async def opened(
    kind: Callable[..., K], close: Callable[[K], None], settings: ConnectionSettings, **options: Any
) -> AsyncIterator[Client[K]]:
    """A client of this kind for the block, closed by `close` whatever happens. Raises BrokerUnavailable."""
    await _reach(settings)
    turn = anyio.CapacityLimiter(1)
    raw = await _in_thread(partial(_build, kind, settings, options), turn)
    try:
        yield Client(raw, settings, turn)
    finally:
        with anyio.CancelScope(shield=True):
            await _in_thread(partial(close, raw), turn)


async def _reach(settings: ConnectionSettings) -> None:
    """Wait until a server listens; kafka-python's own wait can neither be cancelled nor say what is wrong."""
    reason = "no answer"
    with anyio.move_on_after(settings.connect_timeout):
        while True:
            for host, port in settings.addresses():
                try:
                    stream = await anyio.connect_tcp(host, port)
                except OSError as error:
                    reason = f"{host}:{port}: {error.__cause__ or error}"
                else:
                    await stream.aclose()
                    return
            await anyio.sleep(0.2)
    raise unavailable(settings, f"{reason} within {settings.connect_timeout:g} s")


async def _in_thread(call: Callable[[], T], turn: anyio.CapacityLimiter) -> T:
    return await to_thread.run_sync(call, limiter=turn, abandon_on_cancel=False)


def _build(kind: Callable[..., K], settings: ConnectionSettings, options: dict[str, Any]) -> K:
    """The client, connected; one that cannot connect leaves neither thread nor socket behind."""
    networks: list[KafkaNetClient] = []

    def network(**configuration: Any) -> KafkaNetClient:
        networks.append(KafkaNetClient(**configuration))
        return networks[-1]

    complaints = _Complaints()
    logging.getLogger("kafka").addHandler(complaints)
    try:
        return kind(kafka_client=network, **settings.client_options(), **options)
    except errors.KafkaError as error:
        for each in networks:
            each.close()
        reason = (
            f"{str(complaints) or error} (for TLS and passwords: {ENV_PREFIX}SECURITY_PROTOCOL and others)"
        )
        raise unavailable(settings, reason) from error
    finally:
        logging.getLogger("kafka").removeHandler(complaints)


class _Complaints(logging.Handler):
    """Why a connection fails: kafka-python logs it and raises a bare time-out, for a wrong password too."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._reasons: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        _, lost, reason = record.getMessage().partition("Connection lost: ")
        if lost:
            self._reasons[reason] = None

    def __str__(self) -> str:
        return "; ".join(self._reasons)


def unavailable(settings: ConnectionSettings, reason: str) -> BrokerUnavailable:
    """The error of a cluster that does not answer."""
    return BrokerUnavailable(
        f"run.broker is {settings.url}: {reason}. Is the broker running, and is this its address?"
    )


def explained(error: errors.KafkaError, settings: ConnectionSettings) -> BrokerError:
    """A kafka-python error in the contract's terms."""
    if isinstance(error, _UNKNOWN_TOPIC):
        return UnknownTopic(f"{error}. Create the topic, or start a component: each creates what it uses")
    if isinstance(error, _TOO_LARGE):
        return MessageTooLarge(f"{error}. Raise the topic's max.message.bytes")
    if isinstance(error, _REFUSED):
        return BrokerError(
            f"run.broker is {settings.url}: {error}. Check {ENV_PREFIX}USERNAME, {ENV_PREFIX}PASSWORD "
            "and what the cluster allows this user"
        )
    if isinstance(error, _UNREACHABLE):
        return unavailable(settings, str(error))
    return BrokerError(f"run.broker is {settings.url}: {error}")

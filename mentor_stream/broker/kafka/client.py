"""One kafka-python client and its rules: calls block, one at a time, and never on the event loop."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

import anyio
import anyio.lowlevel
from anyio import to_thread
from kafka import errors

from mentor_stream.broker.background import beside
from mentor_stream.broker.base import BrokerError, BrokerUnavailable, MessageTooLarge, UnknownTopic
from mentor_stream.broker.kafka.network import Network
from mentor_stream.broker.kafka.security import where
from mentor_stream.broker.kafka.settings import ConnectionSettings
from mentor_stream.broker.kafka.trouble import CLOSES, trouble

K = TypeVar("K")
P = ParamSpec("P")
T = TypeVar("T")

POLL_SECONDS = 0.2
"""Nothing wakes a poll: it is also how long a cancelled client takes to notice."""
CLOSE_SECONDS = 5.0
"""Bound of each step of closing a client whose broker may be gone."""

RETRIABLE = cast("type[errors.KafkaError]", errors.RetriableError)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
"""Errors that may pass. (The type stubs in circulation are of kafka-python 2.)"""
_UNKNOWN_TOPIC = (errors.UnknownTopicOrPartitionError, errors.InvalidTopicError)
_OUT_OF_STEP = (
    errors.OutOfOrderSequenceNumberError,
    errors.UnknownProducerIdError,
    errors.InvalidProducerEpochError,
)
"""A node and a producer number messages differently: the producer begins again by itself, and whether this
message was appended is not known, as when none answers."""
_PASSING = (RETRIABLE, *_OUT_OF_STEP, errors.BrokerNotAvailableError, errors.IncompatibleBrokerVersion)
TOO_LARGE = (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError)
_PACKAGES = {"snappy": "python-snappy", "zstd": "zstandard", "lz4": "lz4"}


class Client(Generic[K]):
    """A kafka-python client. A call is waited for even when cancelled, so two never meet inside it."""

    def __init__(
        self, raw: K, settings: ConnectionSettings, network: Network, turn: anyio.CapacityLimiter
    ) -> None:
        self.settings = settings
        self._raw, self._network, self._turn = raw, network, turn

    async def call(self, function: Callable[Concatenate[K, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`function(client, ...)` in the client's thread. Raises BrokerError for what Kafka complains of."""
        try:
            return await _in_thread(partial(function, self._raw, *args, **kwargs), self._turn)
        except errors.KafkaError as error:
            raise self.explained(error) from error

    def explained(self, error: errors.KafkaError) -> BrokerError:
        """A kafka-python error in the contract's terms."""
        meant = explained(error, self.settings)
        return self.unavailable(str(error)) if isinstance(meant, BrokerUnavailable) else meant

    def unavailable(self, reason: str) -> BrokerUnavailable:
        """The error of a cluster that does not do what we ask, with what is known of its servers."""
        known = (f"{server}: {why}" for server, why in self._network.trouble.items())
        return unavailable(self.settings, "; ".join((reason, *known)))


@asynccontextmanager
async def opened(
    kind: Callable[..., K], close: Callable[[K], None], settings: ConnectionSettings, **options: Any
) -> AsyncGenerator[Client[K]]:
    """A client of this kind for the block, closed by `close` whatever happens.

    Raises BrokerUnavailable after connect_timeout, and BrokerError at once for what waiting does not cure.
    """
    turn, raws = anyio.CapacityLimiter(1), list[K]()
    network = Network(settings.security)
    try:
        await _connect(partial(_build, kind, settings, network, options), network, raws.append, turn)
        yield Client(raws[0], settings, network, turn)
    finally:
        with anyio.CancelScope(shield=True):
            for raw in raws:
                await _in_thread(partial(close, raw), turn)


async def _connect(
    build: Callable[[], K], network: Network, built: Callable[[K], None], turn: anyio.CapacityLimiter
) -> None:
    """Build in the client's thread. `built` has it even when a cancellation arrives at the same time."""
    try:
        async with beside(network.given_up_when_cancelled):
            await _in_thread(lambda: built(build()), turn)
    except BrokerError:
        # a connecting that was given up fails; what is to come out is the cancellation
        await anyio.lowlevel.checkpoint_if_cancelled()
        raise


async def _in_thread(call: Callable[[], T], turn: anyio.CapacityLimiter) -> T:
    return await to_thread.run_sync(call, limiter=turn, abandon_on_cancel=False)


def _build(
    kind: Callable[..., K], settings: ConnectionSettings, network: Network, options: dict[str, Any]
) -> K:
    """The client, connected."""
    try:
        return kind(kafka_client=network, **settings.client_options(), **options)
    except Exception as error:
        network.close()
        if isinstance(error, errors.KafkaError):
            raise _not_connected(error, settings, network) from error
        raise


def _not_connected(error: errors.KafkaError, settings: ConnectionSettings, network: Network) -> BrokerError:
    if not isinstance(error, errors.KafkaTimeoutError):
        found = trouble(error, settings.security)
        return BrokerError(f"run.broker is {settings.url}: {found.reason}")
    reasons = [f"{server}: {why}" for server, why in network.trouble.items()] or ["no answer"]
    if CLOSES in network.trouble.values() and not settings.security.sasl:
        reasons.append(f"if it wants a password, set {where('security_protocol')}")
    return unavailable(settings, f"{'; '.join(reasons)} (for {settings.connect_timeout:g} s)")


def unavailable(settings: ConnectionSettings, reason: str) -> BrokerUnavailable:
    """The error of a cluster that does not answer."""
    return BrokerUnavailable(
        f"run.broker is {settings.url}: {reason}. Is the broker running, and is this its address?"
    )


def explained(error: errors.KafkaError, settings: ConnectionSettings) -> BrokerError:
    """A kafka-python error in the contract's terms."""
    if isinstance(error, _UNKNOWN_TOPIC):
        return UnknownTopic(
            f"{_words(error)} does not exist: `mentor-stream topics create CONFIG` makes the topics of a run"
        )
    if isinstance(error, TOO_LARGE):
        return MessageTooLarge(
            f"the cluster refuses a message as too large ({_words(error)}): raise its max_record_bytes in "
            "[topics] and alter the topic; beside the value there is room for a key and headers of 4 kB"
        )
    if isinstance(error, errors.AuthorizationError):
        return BrokerError(
            f"run.broker is {settings.url}: {error}. The cluster has to allow it to the user "
            f"{settings.security.username or 'ANONYMOUS'}"
        )
    if isinstance(error, errors.InvalidSessionTimeoutError):
        return BrokerError(
            f"run.broker has session_timeout={settings.session_timeout:g}, which the cluster does not allow: "
            "its group.min.session.timeout.ms and group.max.session.timeout.ms say what it does (6 to 1800 s)"
        )
    if isinstance(error, errors.UnsupportedCodecError):
        return BrokerError(f"run.broker is {settings.url}: {_missing_codec(str(error))}")
    if isinstance(error, _PASSING):
        return unavailable(settings, str(error))
    return BrokerError(f"run.broker is {settings.url}: {error}")


def _words(error: errors.KafkaError) -> str:
    """What it says, without kafka-python's numbers and names."""
    return " ".join(map(str, error.args)) or str(error)


def _missing_codec(text: str) -> str:
    for codec, package in _PACKAGES.items():
        if codec in text:
            return f"a message is compressed with {codec}: install the package {package} to read it"
    return text

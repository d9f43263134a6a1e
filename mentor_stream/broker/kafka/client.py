"""One kafka-python client and its rules: calls block, one at a time, and never on the event loop."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import anyio
import anyio.lowlevel
from anyio import to_thread
from kafka import errors

from mentor_stream.broker.background import beside
from mentor_stream.broker.base import BrokerError, BrokerUnavailable
from mentor_stream.broker.kafka import meaning
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
            return await self.attempt(function, *args, **kwargs)
        except errors.KafkaError as error:
            raise self.explained(error) from error

    async def attempt(self, function: Callable[Concatenate[K, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for those who know better what to say: raises what Kafka complains of."""
        return await _in_thread(partial(function, self._raw, *args, **kwargs), self._turn)

    def explained(self, error: errors.KafkaError, failed: str = "") -> BrokerError:
        """A kafka-python error in the contract's terms; `failed` says what was not done, and in what time."""
        meant = meaning.explained(error, self.settings)
        if not isinstance(meant, BrokerUnavailable) or not isinstance(error, meaning.PASSING):
            return meant
        why = meaning.reason(error)
        return self.unavailable(f"{failed}: {why}" if failed else why)

    def unavailable(self, reason: str) -> BrokerUnavailable:
        """The error of a cluster that does not do what we ask, with what is known of its servers."""
        known = (f"{server}: {why}" for server, why in self._network.trouble.items())
        return meaning.unavailable(self.settings, "; ".join((reason, *known)))


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
        kind = BrokerUnavailable if found.passing else BrokerError
        return kind(f"run.broker is {settings.url}: {found.reason}")
    reasons = [f"{server}: {why}" for server, why in network.trouble.items()] or ["no answer"]
    if CLOSES in network.trouble.values() and not settings.security.sasl:
        reasons.append(f"if it wants a password, set {where('security_protocol')}")
    return meaning.unavailable(settings, f"{'; '.join(reasons)} (for {settings.connect_timeout:g} s)")

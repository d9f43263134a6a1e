"""kafka-python's connections, watched: why they fail, and no more tries where none can help."""

# All of it is about what kafka-python keeps to itself, of which no types are known.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportMissingTypeStubs=false

import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
from kafka import errors
from kafka.net.compat import KafkaNetClient
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

from mentor_stream.broker.kafka.quiet import Sparingly
from mentor_stream.broker.kafka.receiving import received
from mentor_stream.broker.kafka.security import Security
from mentor_stream.broker.kafka.trouble import SILENT, Trouble, trouble

log = logging.getLogger(__name__)

_said = Sparingly()


class Network:
    """The network side of one kafka-python client, made when that asks for it (its option `kafka_client`)."""

    def __init__(self, security: Security) -> None:
        self._security = security
        self._manager: Manager | None = None
        self._client: KafkaNetClient | None = None
        self._given_up = False

    def __call__(self, **configuration: Any) -> KafkaNetClient:
        """What kafka-python calls for its connections."""
        net = NetworkSelector(**configuration)
        self._manager = Manager(net, self._security, **configuration)
        self._client = KafkaNetClient(net, self._manager, **configuration)
        if self._given_up:
            self._manager.give_up()
        return self._client

    @property
    def trouble(self) -> Mapping[str, str]:
        """What is wrong now, by server."""
        return self._manager.trouble if self._manager else {}

    async def given_up_when_cancelled(self) -> None:
        """Runs beside the making of the client, which no cancellation reaches: ends its wait."""
        try:
            await anyio.sleep_forever()
        finally:
            self._given_up = True
            if self._manager is not None:
                self._manager.give_up()

    def close(self) -> None:
        """Leave neither thread nor socket behind. For clients that never came to be: the others do it."""
        if self._client is not None:
            self._client.close()


class Manager(KafkaConnectionManager):
    """Also says why it cannot connect, and ends the first connecting when waiting longer will not help."""

    def __init__(self, net: NetworkSelector, security: Security, **configuration: Any) -> None:
        super().__init__(net, **configuration)
        # kafka-python forgets to pass this on: to ask for a topic that was deleted would make it again
        self.cluster.config["allow_auto_create_topics"] = False
        self.trouble: dict[str, str] = {}
        self._security = security
        self._end: Exception | None = None
        self._refusals: dict[str, tuple[Trouble, Exception]] = {}

    def give_up(self) -> None:
        """End the first connecting, if it goes on, with errors.Cancelled. From any thread."""
        with suppress(RuntimeError):  # it is over, and its loop closed
            self._net.call_soon_threadsafe(lambda: self._end_bootstrap(errors.Cancelled()))

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:
        transport: Any = await super()._build_transport(node, timeout_at)
        transport._sock_recv = partial(received, transport)
        return transport

    async def _connect(
        self,
        node: Any,
        conn: KafkaConnection,
        reset_backoff_on_connect: bool = True,
        timeout_at: float | None = None,
    ) -> None:
        # a TLS handshake has no time-out of its own (and a partial is not taken for a function)
        overdue = self._net.call_at(timeout_at, lambda: _too_late(conn)) if timeout_at else None
        conn.close_future.add_errback(partial(self._lost, node))
        await super()._connect(node, conn, reset_backoff_on_connect, timeout_at)
        if overdue is not None:
            self._net.cancel(overdue)
        if conn.connected:
            self._reached(node)
        elif not self.closed:
            self._not_reached(node, conn.init_future.exception)

    def _reached(self, node: Any) -> None:
        self.trouble.pop(_address(node), None)
        self._refusals.pop(node.node_id, None)
        if _said.over(_address(node)):
            log.warning("Kafka at %s answers again", _address(node))

    def _lost(self, node: Any, error: Exception) -> None:
        if not self.closed:
            self.trouble[_address(node)] = trouble(error, self._security).reason

    def _not_reached(self, node: Any, error: Exception) -> None:
        found = trouble(error, self._security)
        if (self.bootstrapped or found.passing) and _said.may_say(_address(node)):
            log.warning("Kafka at %s cannot be reached: %s", _address(node), found.reason)
        if self.bootstrapped or not self.cluster.is_bootstrap(node.node_id):
            return
        self._refusals[node.node_id] = (found, error)
        if len(self._refusals) == len(self._bootstrap_nodes()):
            for refusal, reason in self._refusals.values():
                if not refusal.passing:
                    self._end_bootstrap(reason)

    def maybe_raise_auth_failure(self, node_id: Any) -> None:
        """kafka-python asks before each try what makes it useless, and raises that."""
        if self._end is not None:
            raise self._end
        super().maybe_raise_auth_failure(node_id)

    def _bootstrap_nodes(self) -> list[Any]:
        return self.cluster.bootstrap_brokers()  # pyright: ignore[reportAttributeAccessIssue]

    def _end_bootstrap(self, error: Exception) -> None:
        if self.bootstrapped:
            return
        self._end = error
        for conn in list(self._conns.values()):
            if conn.initializing:
                conn.close(error)
        self._bootstrap_wakeup.notify()


def _address(node: Any) -> str:
    return f"{node.host}:{node.port}"


def _too_late(conn: KafkaConnection) -> None:
    if conn.initializing:
        conn.close(errors.KafkaTimeoutError(SILENT))

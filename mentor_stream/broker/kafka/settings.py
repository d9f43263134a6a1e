"""What a kafka:// URL and the environment say about a cluster and how to reach it.

    kafka://host:9092,other:9092?send_timeout=30&compression=lz4

Options, all with defaults: the fields of ConnectionSettings, and security.py's: `security_protocol`,
`sasl_mechanism`, `ssl_cafile`, `ssl_certfile` and `ssl_keyfile`, in the URL or as
MENTOR_STREAM_KAFKA_SECURITY_PROTOCOL and so on. Secrets come from the environment only:
MENTOR_STREAM_KAFKA_USERNAME, MENTOR_STREAM_KAFKA_PASSWORD and MENTOR_STREAM_KAFKA_SSL_PASSWORD.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mentor_stream.broker.base import BrokerError
from mentor_stream.broker.kafka import security
from mentor_stream.broker.kafka.security import ENV_PREFIX, Security

DEFAULT_PORT = 9092
METADATA_SECONDS = 5.0
"""So old is what a client knows of topics at most: new partitions are noticed after that time."""
COMPRESSIONS = ("none", "gzip", "lz4")


@dataclass(frozen=True)
class ConnectionSettings:
    """How to reach a cluster. Times are in seconds."""

    servers: tuple[str, ...]
    """Brokers to ask first, `host:port`."""
    connect_timeout: float = 15.0
    """How long a cluster that does not answer is waited for, at the start and by each question to it."""
    send_timeout: float = 60.0
    """How long a message may wait for its acknowledgement; a broker's restart takes 10 to 30 s."""
    session_timeout: float = 10.0
    """A group member not heard of for so long loses its partitions (brokers allow 6 s to 30 min)."""
    stall_timeout: float = 300.0
    """A group member whose process lives, but is stuck, loses its partitions after that time."""
    compression: str = "none"
    """How producers pack what they send, one of COMPRESSIONS; whatever it is, consumers can read it."""
    security: Security = field(default_factory=Security)

    @property
    def url(self) -> str:
        """The cluster for error texts: no options, no secrets."""
        return f"kafka://{','.join(self.servers)}"

    def client_options(self) -> dict[str, Any]:
        """Options that every kafka-python client gets. Raises BrokerError for files that cannot be used."""
        return {
            "bootstrap_servers": list(self.servers),
            "bootstrap_timeout_ms": _ms(self.connect_timeout),
            "metadata_max_age_ms": _ms(METADATA_SECONDS),
            # its default of 30 s would leave us away that long after a broker's short restart
            "reconnect_backoff_max_ms": 1000,
            **self.security.options(),
        }


_TIMES = ("connect_timeout", "send_timeout", "session_timeout", "stall_timeout")
LEAST_SECONDS, MOST_SECONDS = 0.01, 86_400.0
"""Beyond a day kafka-python's milliseconds do not fit their field, and it would read nothing, for ever."""
_KNOWN = (*_TIMES, "compression", *security.OPTIONS)


def parse(url: str, environment: Mapping[str, str] = os.environ) -> ConnectionSettings:
    """The settings behind a kafka:// URL. Raises BrokerError naming the part that is wrong."""
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise BrokerError(
            f"run.broker holds credentials: set {ENV_PREFIX}USERNAME and {ENV_PREFIX}PASSWORD instead"
        )
    servers = tuple(filter(None, parts.netloc.split(",")))
    if not servers or parts.path not in ("", "/") or parts.fragment:
        raise BrokerError(f"run.broker is {url!r}: expected kafka://host:port,...[?option=value]")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in options.keys() - set(_KNOWN):
        raise BrokerError(_unknown(name))
    return ConnectionSettings(
        servers=tuple(map(_server, servers)),
        compression=_compression(options.get("compression", "none")),
        security=security.read(
            {name: options[name] for name in security.OPTIONS if name in options}, environment
        ),
        **{name: _seconds(name, options[name]) for name in _TIMES if name in options},
    )


def _server(text: str) -> str:
    """host:port, with Kafka's usual port where none is named."""
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BrokerError(f"run.broker names the server {text!r}: {error}") from error
    if not host:
        raise BrokerError(f"run.broker names the server {text!r}: expected host:port")
    if port == 0:
        raise BrokerError(f"run.broker names the server {text!r}: expected a port from 1 to 65535")
    return f"[{host}]:{port or DEFAULT_PORT}" if ":" in host else f"{host}:{port or DEFAULT_PORT}"


def _unknown(name: str) -> str:
    if name in security.SECRETS:
        return f"run.broker holds a secret: set {security.where(name)} in the environment instead"
    if name == "replication":
        return "run.broker has the option 'replication': set topics.replication in the config instead"
    return f"run.broker has the option {name!r}: known are {', '.join(_KNOWN)}"


def _compression(text: str) -> str:
    if text not in COMPRESSIONS:
        raise BrokerError(f"run.broker has compression={text}: expected one of {', '.join(COMPRESSIONS)}")
    return text


def _seconds(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not LEAST_SECONDS <= value <= MOST_SECONDS:
        expected = f"expected seconds, from {LEAST_SECONDS:g} to {MOST_SECONDS:g}"
        raise BrokerError(f"run.broker has {name}={text}: {expected}")
    return value


def _ms(seconds: float) -> int:
    return round(seconds * 1000)

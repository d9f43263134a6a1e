"""Who the client is to a cluster, and how it knows the cluster: passwords, TLS, client certificates."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from mentor_stream.broker.base import BrokerError

ENV_PREFIX = "MENTOR_STREAM_KAFKA_"
OPTIONS = ("security_protocol", "sasl_mechanism", "ssl_cafile", "ssl_certfile", "ssl_keyfile")
"""In the URL, or in the environment behind ENV_PREFIX in capitals; the URL comes first."""
SECRETS = ("username", "password", "ssl_password")
"""In the environment only. `ssl_password` is that of the private key in ssl_keyfile."""

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_OF_TLS = ("ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_password")
_OF_SASL = ("sasl_mechanism", "username", "password")


class Secret(str):
    """A text that no representation shows: kafka-python logs its whole configuration."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


@dataclass(frozen=True)
class Security:
    """What was set, as far as it goes together. Whether the files are right shows in `options`."""

    protocol: str = "PLAINTEXT"
    mechanism: str | None = None
    username: str | None = None
    password: Secret | None = None
    ca_file: Path | None = None
    """Who signed the brokers' certificates; without it those whom this machine trusts."""
    certificate_file: Path | None = None
    key_file: Path | None = None
    """Without it the key is in certificate_file."""
    key_password: Secret | None = field(default=None)

    @property
    def tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.protocol.endswith("SSL")

    @property
    def sasl(self) -> bool:
        """Whether the client gives a user name and password."""
        return self.protocol.startswith("SASL")

    def options(self) -> dict[str, Any]:
        """kafka-python's options. Raises BrokerError for a file that is not what its setting says."""
        options: dict[str, Any] = {"security_protocol": self.protocol}
        if self.sasl:
            options["sasl_mechanism"] = self.mechanism
            options["sasl_plain_username"] = self.username
            options["sasl_plain_password"] = self.password
        if self.tls:
            options["ssl_context"] = self._context()
        return options

    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self.ca_file is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            _load("ssl_cafile", self.ca_file, partial(context.load_verify_locations, self.ca_file))
        if self.certificate_file is not None:
            _readable("ssl_certfile", self.certificate_file)
            _readable("ssl_keyfile", self.key_file or self.certificate_file)
            self._load_certificate(context, self.certificate_file)
        return context

    def _load_certificate(self, context: ssl.SSLContext, certificate: Path) -> None:
        asked: list[bool] = []

        def password() -> str:
            # without this function OpenSSL would ask at the terminal
            asked.append(True)
            return self.key_password or ""

        try:
            context.load_cert_chain(certificate, self.key_file, password)
        except (ssl.SSLError, ValueError) as error:
            where = (
                f"run.broker's ssl_certfile is {certificate}, its ssl_keyfile {self.key_file or 'not set'}"
            )
            raise BrokerError(f"{where}: {_certificate_problem(error, bool(asked))}") from error


def read(url: Mapping[str, str], environment: Mapping[str, str]) -> Security:
    """The security that a URL's options and the environment ask for.

    Raises BrokerError for values that are unknown, missing, or of no use with the others.
    """
    named = {name: environment.get(ENV_PREFIX + name.upper()) for name in (*OPTIONS, *SECRETS)}
    given = {name: value for name, value in (named | dict(url)).items() if value}
    protocol = _one_of("security_protocol", given.get("security_protocol", "PLAINTEXT"), PROTOCOLS)
    security = Security(
        protocol=protocol,
        mechanism=given.get("sasl_mechanism"),
        username=given.get("username"),
        password=_secret(given.get("password")),
        ca_file=_path(given.get("ssl_cafile")),
        certificate_file=_path(given.get("ssl_certfile")),
        key_file=_path(given.get("ssl_keyfile")),
        key_password=_secret(given.get("ssl_password")),
    )
    _refuse_useless(given, security)
    if security.sasl:
        _require(given, "sasl_mechanism", f"one of {', '.join(MECHANISMS)}")
        _one_of("sasl_mechanism", given["sasl_mechanism"], MECHANISMS)
        _require(given, "username", "the user's name")
        _require(given, "password", "the user's password")
    if security.certificate_file is None and (security.key_file or security.key_password):
        raise BrokerError("run.broker has a client's key without its certificate: set ssl_certfile")
    return security


def where(name: str) -> str:
    """Where a setting is made, for error texts."""
    variable = ENV_PREFIX + name.upper()
    return variable if name in SECRETS else f"{name} (in run.broker) or {variable}"


def _refuse_useless(given: Mapping[str, str], security: Security) -> None:
    """What is set and not used may be thought to protect something."""
    for names, used, instead in (
        (_OF_TLS, security.tls, "SSL or SASL_SSL"),
        (_OF_SASL, security.sasl, "SASL_SSL or SASL_PLAINTEXT"),
    ):
        for name in names:
            if name in given and not used:
                raise BrokerError(
                    f"run.broker's security_protocol is {security.protocol}, which makes no use of "
                    f"{where(name)}: set security_protocol={instead}, or take it out"
                )


def _require(given: Mapping[str, str], name: str, what: str) -> None:
    if name not in given:
        raise BrokerError(
            f"run.broker's security_protocol is {given['security_protocol']} and it has no {name}: "
            f"set {where(name)} to {what}"
        )


def _one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise BrokerError(f"run.broker's {name} is {value}: expected one of {', '.join(known)}")
    return value


def _secret(text: str | None) -> Secret | None:
    return Secret(text) if text else None


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _readable(name: str, file: Path) -> None:
    try:
        file.read_bytes()
    except OSError as error:
        raise BrokerError(f"run.broker's {name} is {file}: {error.strerror}") from error


def _load(name: str, file: Path, load: Any) -> None:
    _readable(name, file)
    try:
        load()
    except ssl.SSLError as error:
        raise BrokerError(f"run.broker's {name} is {file}: no PEM certificates in it ({error})") from error


def _certificate_problem(error: Exception, asked_for_password: bool) -> str:
    """Why a certificate and its key cannot be used, and the way out."""
    if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
        return "the key is not that of the certificate"
    if asked_for_password:
        return f"the key is encrypted; set {where('ssl_password')} to its password"
    return f"no certificate and private key in PEM ({error}); set {where('ssl_keyfile')} to the key's file"

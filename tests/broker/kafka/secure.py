"""A Kafka node that lets nobody in without a password or a certificate, but for its inner, plain port."""

from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from kafka import KafkaAdminClient
from kafka.admin import UserScramCredentialUpsertion

from tests.cluster import Cluster, free_ports

USER, PASSWORD = "ada", "s3cret-of-ada"
PROTOCOLS = ("SASL_SSL", "SASL_PLAINTEXT", "SSL")
"""What it speaks beside PLAINTEXT. At SSL clients must show a certificate."""
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_LOGIN_MODULE = "org.apache.kafka.common.security"
_LOGINS = {
    "PLAIN": f'{_LOGIN_MODULE}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";',
    "SCRAM-SHA-256": f"{_LOGIN_MODULE}.scram.ScramLoginModule required;",
    "SCRAM-SHA-512": f"{_LOGIN_MODULE}.scram.ScramLoginModule required;",
}


class SecureNode(Cluster):
    """One node with a port for each protocol. Start it, then `add_user`."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._certificates = directory
        self._secure_ports = dict(zip(PROTOCOLS, free_ports(len(PROTOCOLS)), strict=True))
        write_certificates(directory)

    def at(self, protocol: str) -> str:
        """Its host:port for a protocol."""
        return f"127.0.0.1:{self._secure_ports[protocol]}" if protocol in PROTOCOLS else self.servers

    def file(self, name: str) -> str:
        """The path of one of write_certificates' files."""
        return str(self._certificates / name)

    def add_user(self) -> None:
        """USER with PASSWORD, for SCRAM; PLAIN has it from the start."""
        admin = KafkaAdminClient(bootstrap_servers=self.servers)
        try:
            for mechanism in MECHANISMS[1:]:
                user = UserScramCredentialUpsertion(USER, mechanism, PASSWORD)
                assert admin.alter_user_scram_credentials([user]) == {USER: None}
        finally:
            admin.close()

    def _settings(self, node: int) -> dict[str, str]:
        settings = super()._settings(node)
        own = "".join(f",{name}://127.0.0.1:{port}" for name, port in self._secure_ports.items())
        settings["listeners"] += own
        settings["advertised.listeners"] += own
        settings["listener.security.protocol.map"] += "".join(f",{name}:{name}" for name in PROTOCOLS)
        for protocol in ("sasl_ssl", "sasl_plaintext"):
            for mechanism, login in _LOGINS.items():
                settings[f"listener.name.{protocol}.{mechanism.lower()}.sasl.jaas.config"] = login
        return settings | {
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.file("broker.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.file("ca.pem"),
            "listener.name.ssl.ssl.client.auth": "required",
        }


def write_certificates(directory: Path) -> None:
    """ca.pem, broker.pem, client.pem with client.key and client-locked.key (behind PASSWORD); and of another
    CA strangers-ca.pem, stranger.pem and stranger.key."""
    ours, theirs = trustme.CA(), trustme.CA()
    broker, client = ours.issue_cert("127.0.0.1"), ours.issue_cert("client.example")
    stranger = theirs.issue_cert("stranger.example")
    files = {
        "ca.pem": ours.cert_pem.bytes(),
        "strangers-ca.pem": theirs.cert_pem.bytes(),
        "broker.pem": _key(broker) + _chain(broker),
        "client.pem": _chain(client),
        "client.key": _key(client),
        "client-locked.key": _key(client, PASSWORD),
        "stranger.pem": _chain(stranger),
        "stranger.key": _key(stranger),
    }
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (directory / name).write_bytes(content)


def _chain(certificate: trustme.LeafCert) -> bytes:
    return b"".join(pem.bytes() for pem in certificate.cert_chain_pems)


def _key(certificate: trustme.LeafCert, password: str | None = None) -> bytes:
    """As PKCS8, the only form that Kafka reads."""
    lock = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    key = load_pem_private_key(certificate.private_key_pem.bytes(), None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock)

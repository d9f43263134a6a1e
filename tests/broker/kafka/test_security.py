"""Passwords, TLS and client certificates: what cannot be is refused; the rest is tried on a real node."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import anyio
import pytest
from kafka import errors

from mentor_stream import broker as brokers
from mentor_stream.broker import BrokerError, TopicSpec, check
from mentor_stream.broker.kafka.security import ENV_PREFIX, Security
from mentor_stream.broker.kafka.settings import parse
from mentor_stream.broker.kafka.trouble import trouble
from tests.broker.kafka.secure import MECHANISMS, PASSWORD, USER, SecureNode, write_certificates
from tests.cluster import needs_nodes

pytestmark = pytest.mark.anyio
PATIENCE = {"connect_timeout": "60"}
"""Longer than a test waits: what is said at once was not waited for."""
CLIENT = {"ssl_certfile": "client.pem", "ssl_keyfile": "client.key"}
STRANGER = {"ssl_certfile": "stranger.pem", "ssl_keyfile": "stranger.key"}


def environment(**variables: str) -> dict[str, str]:
    return {ENV_PREFIX + name.upper(): value for name, value in variables.items()}


LOGIN = {"username": USER, "password": PASSWORD}


@pytest.mark.parametrize(
    ("options", "variables", "words"),
    [
        (
            {"security_protocol": "TLS"},
            {},
            "security_protocol is TLS: expected one of PLAINTEXT, SSL, SASL_PLAIN",
        ),
        ({}, {"security_protocol": "sasl_ssl"}, "security_protocol is sasl_ssl: expected one of"),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "GSSAPI"},
            LOGIN,
            "sasl_mechanism is GSSAPI: expected",
        ),
        (
            {"security_protocol": "SASL_SSL"},
            LOGIN,
            r"no sasl_mechanism: set .* to one of PLAIN, SCRAM-SHA-256",
        ),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"},
            {"password": PASSWORD},
            "no username: set MENTOR_STREAM_KAFKA_USERNAME",
        ),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"},
            {"username": USER},
            "no password: set MENTOR_STREAM_KAFKA_PASSWORD",
        ),
        ({}, LOGIN, "is PLAINTEXT, which makes no use of MENTOR_STREAM_KAFKA_USERNAME: set .*SASL_SSL"),
        (
            {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "ssl_cafile": "ca.pem"},
            LOGIN,
            "makes no use of ssl_cafile .*: set security_protocol=SSL or SASL_SSL",
        ),
        (
            {"security_protocol": "SSL", "ssl_keyfile": "client.key"},
            {},
            "key without its certificate: set ssl_certfile",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused_with_the_way_out(options, variables, words):
    with pytest.raises(BrokerError, match=r"^run\.broker") as refused:
        parse(f"kafka://host?{urlencode(options)}", environment(**variables))
    assert re.search(words, str(refused.value)), refused.value
    assert PASSWORD not in str(refused.value)


def test_the_url_comes_before_the_environment():
    variables = environment(security_protocol="SASL_SSL", sasl_mechanism="PLAIN", **LOGIN)
    security = parse("kafka://host?sasl_mechanism=SCRAM-SHA-256", variables).security
    assert (security.protocol, security.mechanism) == ("SASL_SSL", "SCRAM-SHA-256")
    assert (security.username, security.password) == (USER, PASSWORD)


def test_no_representation_of_the_settings_shows_a_secret():
    variables = environment(security_protocol="SASL_SSL", sasl_mechanism="PLAIN", ssl_password="k3y", **LOGIN)
    settings = parse("kafka://host?ssl_certfile=client.pem", variables)
    for shown in (
        repr(settings),
        settings.url,
        str(vars(settings.security)),
        str(settings.security.password)[:0],
    ):
        assert PASSWORD not in shown
        assert "k3y" not in shown


@pytest.mark.parametrize(
    ("files", "variables", "words"),
    [
        ({"ssl_cafile": "missing.pem"}, {}, r"ssl_cafile is .*missing\.pem: No such file"),
        ({"ssl_cafile": "client.key"}, {}, r"ssl_cafile is .*client\.key: no PEM certificates in it"),
        ({"ssl_certfile": "missing.pem"}, {}, r"ssl_certfile is .*missing\.pem: No such file"),
        (CLIENT | {"ssl_keyfile": "missing.key"}, {}, r"ssl_keyfile is .*missing\.key: No such file"),
        ({"ssl_certfile": "client.pem"}, {}, "its ssl_keyfile not set: .* set ssl_keyfile"),
        (CLIENT | {"ssl_keyfile": "stranger.key"}, {}, "the key is not that of the certificate"),
        (
            CLIENT | {"ssl_keyfile": "client-locked.key"},
            {},
            "encrypted; set MENTOR_STREAM_KAFKA_SSL_PASSWORD",
        ),
        (
            CLIENT | {"ssl_keyfile": "client-locked.key"},
            {"ssl_password": "wr0ng-one"},
            "encrypted; set MENTOR_STREAM_KAFKA_SSL_PASSWORD",
        ),
    ],
)
def test_files_that_cannot_be_used_are_refused_before_anything_is_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files, variables, words
):
    write_certificates(tmp_path)
    for name, value in environment(**variables).items():
        monkeypatch.setenv(name, value)
    options = {"security_protocol": "SSL"} | {name: str(tmp_path / file) for name, file in files.items()}
    with pytest.raises(BrokerError, match=r"^run\.broker") as refused:
        check(f"kafka://host?{urlencode(options)}")
    assert re.search(words, str(refused.value)), refused.value
    assert "wr0ng-one" not in str(refused.value)


def test_a_mechanism_that_the_broker_does_not_take_is_said_with_the_setting():
    found = trouble(errors.UnsupportedSaslMechanismError(), Security("SASL_SSL", "SCRAM-SHA-512"))
    assert not found.passing
    assert "does not take sasl_mechanism=SCRAM-SHA-512: set sasl_mechanism" in found.reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (errors.KafkaConnectionError("111 ECONNREFUSED"), "Connection refused"),
        (errors.KafkaConnectionError("[Errno 104] Connection reset by peer"), "it closes the connection"),
        (errors.KafkaConnectionError("socket disconnected"), "it closes the connection"),
        (errors.KafkaTimeoutError("it does not answer"), "it does not answer"),
        (errors.KafkaConnectionError(), "KafkaConnectionError"),
    ],
)
def test_what_may_pass_is_told_in_plain_words(error: errors.KafkaError, reason: str):
    assert trouble(error, Security("SASL_PLAINTEXT", "PLAIN")) == (reason, True)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureNode]:
    with SecureNode(tmp_path_factory.mktemp("secure")) as node:
        node.add_user()
        yield node


@pytest.fixture
def login(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's name and password are in the environment."""
    for name, value in environment(**LOGIN).items():
        monkeypatch.setenv(name, value)


def url(node: SecureNode, port_of: str, protocol: str = "", **options: str) -> str:
    """run.broker for the node's port of one protocol, speaking that or another."""
    wanted = {"security_protocol": protocol or port_of} | options
    if wanted["security_protocol"].endswith("SSL"):
        wanted = {"ssl_cafile": "ca.pem"} | wanted
    if wanted["security_protocol"].startswith("SASL"):
        wanted = {"sasl_mechanism": "PLAIN"} | wanted
    files = {name: node.file(value) for name, value in wanted.items() if name.startswith("ssl_") and value}
    return f"kafka://{node.at(port_of)}?{urlencode(wanted | files)}"


async def there_and_back(broker_url: str, topic: str) -> None:
    """Clients of every kind do their work."""
    with anyio.fail_after(60):
        async with brokers.connect(broker_url) as broker:
            await broker.create_topics([TopicSpec(topic)])
            async with broker.producer() as producer, broker.consumer([topic], group=topic) as consumer:
                await producer.send(topic, b"key", b"value")
                assert (await anext(aiter(consumer))).value == b"value"


async def refusal(broker_url: str) -> str:
    """What connecting says is wrong."""
    with anyio.fail_after(15), pytest.raises(BrokerError) as error:
        async with brokers.connect(broker_url):
            pass
    assert str(error.value).startswith("run.broker is kafka://127.0.0.1")
    assert "bootstrap" not in str(error.value)
    return str(error.value)


@needs_nodes
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT"])
async def test_a_user_with_the_right_password_gets_in(node, login, name, protocol, mechanism):
    await there_and_back(url(node, protocol, sasl_mechanism=mechanism), name)


@needs_nodes
async def test_a_client_with_a_certificate_gets_in(node, name):
    await there_and_back(url(node, "SSL", **CLIENT), name)


@needs_nodes
async def test_a_client_whose_key_is_locked_gets_in_with_its_password(node, monkeypatch, name):
    monkeypatch.setenv(ENV_PREFIX + "SSL_PASSWORD", PASSWORD)
    monkeypatch.setenv(ENV_PREFIX + "SSL_KEYFILE", node.file("client-locked.key"))
    await there_and_back(url(node, "SSL", ssl_certfile="client.pem"), name)


@needs_nodes
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT"])
async def test_a_wrong_password_is_said_to_be_one(node, login, monkeypatch, caplog, protocol, mechanism):
    monkeypatch.setenv(ENV_PREFIX + "PASSWORD", "wr0ng-one")
    said = await refusal(url(node, protocol, sasl_mechanism=mechanism, **PATIENCE))
    assert "refuses the user name and password" in said
    assert "check MENTOR_STREAM_KAFKA_USERNAME, MENTOR_STREAM_KAFKA_PASSWORD" in said
    assert f"sasl_mechanism={mechanism}" in said
    assert "wr0ng-one" not in said + caplog.text


@needs_nodes
@pytest.mark.parametrize(
    ("port_of", "protocol", "options", "words"),
    [
        ("SSL", "SSL", {"ssl_cafile": "strangers-ca.pem"}, r"not trusted .*strangers-ca\.pem \(ssl_cafile\)"),
        ("SSL", "SSL", {"ssl_cafile": ""}, "not trusted .*: set ssl_cafile"),
        ("SSL", "SSL", {}, "asks for a client certificate .*: set ssl_certfile"),
        ("SSL", "SSL", STRANGER, r"does not accept our certificate .*stranger\.pem \(ssl_certfile\)"),
        ("SSL", "SASL_SSL", CLIENT, "asks for no password .*: set security_protocol=SSL"),
        ("SSL", "PLAINTEXT", {}, "speaks TLS at this port: set security_protocol .* to SSL"),
        ("SASL_SSL", "SASL_PLAINTEXT", {}, "speaks TLS at this port: set security_protocol .* to SASL_SSL"),
        ("PLAINTEXT", "SASL_PLAINTEXT", {}, "asks for no password .*: set security_protocol=PLAINTEXT"),
    ],
)
async def test_what_no_patience_cures_is_said_at_once_with_the_cure(
    node: SecureNode, request: pytest.FixtureRequest, port_of, protocol, options, words
):
    if protocol.startswith("SASL"):
        request.getfixturevalue("login")
    said = await refusal(url(node, port_of, protocol, **options, **PATIENCE))
    assert re.search(words, said), said


@needs_nodes
async def test_a_broker_by_another_name_than_its_certificates_is_said_to_be(node):
    other_name = url(node, "SSL", **CLIENT, **PATIENCE).replace("127.0.0.1", "localhost")
    with (
        anyio.fail_after(15),
        pytest.raises(BrokerError, match=r"name it in run\.broker as its certificate does"),
    ):
        async with brokers.connect(other_name):
            pass


@needs_nodes
@pytest.mark.parametrize(
    ("port_of", "protocol", "words"),
    [
        ("PLAINTEXT", "SSL", "does not speak TLS at this port.* set security_protocol=PLAINTEXT"),
        (
            "SASL_PLAINTEXT",
            "PLAINTEXT",
            "closes the connection; if it wants a password, set security_protocol",
        ),
    ],
)
async def test_a_port_that_speaks_something_else_is_said_to(
    node: SecureNode, request: pytest.FixtureRequest, port_of, protocol, words
):
    if protocol.startswith("SASL"):
        request.getfixturevalue("login")
    said = await refusal(url(node, port_of, protocol, connect_timeout="3"))
    assert re.search(words, said), said


@needs_nodes
async def test_no_log_shows_a_password_however_much_is_logged(node, login, caplog, name):
    caplog.set_level(logging.DEBUG, "kafka")
    caplog.set_level(logging.DEBUG)
    await there_and_back(url(node, "SASL_PLAINTEXT"), name)
    assert "SaslHandshakeRequest" in caplog.text
    assert PASSWORD not in caplog.text

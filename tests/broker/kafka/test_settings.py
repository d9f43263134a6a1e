"""kafka:// URLs and the environment."""

import pytest

from mentor_stream.broker import BrokerError
from mentor_stream.broker.kafka.settings import parse


def test_a_url_names_servers_and_options():
    settings = parse("kafka://one:9093,two?send_timeout=2.5&replication=3", {})
    assert settings.addresses() == [("one", 9093), ("two", 9092)]
    assert (settings.send_timeout, settings.replication) == (2.5, 3)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("kafka://", "expected kafka://host:port"),
        ("kafka://host/path", "expected kafka://host:port"),
        ("kafka://host:port", "host:port"),
        ("kafka://host?sendtimeout=1", "'sendtimeout': known are connect_timeout"),
        ("kafka://host?send_timeout=soon", "send_timeout=soon: expected a number above 0"),
        ("kafka://host?replication=1.5", "replication=1.5: expected a whole number above 0"),
    ],
)
def test_a_url_that_cannot_work_is_refused_with_the_reason(url: str, problem: str):
    with pytest.raises(BrokerError, match=r"run\.broker") as refused:
        parse(url, {})
    assert problem in str(refused.value)


def test_credentials_come_from_the_environment_and_are_never_shown():
    environment = {
        "MENTOR_STREAM_KAFKA_USERNAME": "ada",
        "MENTOR_STREAM_KAFKA_PASSWORD": "secret",
        "MENTOR_STREAM_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
    }
    settings = parse("kafka://host?sasl_mechanism=SCRAM-SHA-256", environment)
    assert settings.client_options().items() >= {
        ("sasl_plain_username", "ada"),
        ("sasl_plain_password", "secret"),
        ("security_protocol", "SASL_SSL"),
        ("sasl_mechanism", "SCRAM-SHA-256"),
    }
    assert "secret" not in f"{settings} {settings.url}"


def test_credentials_in_a_url_are_refused_without_repeating_them():
    with pytest.raises(BrokerError, match="MENTOR_STREAM_KAFKA_PASSWORD") as refused:
        parse("kafka://ada:secret@host", {})
    assert "secret" not in str(refused.value)

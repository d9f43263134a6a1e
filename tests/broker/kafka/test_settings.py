"""kafka:// URLs and the environment."""

import pytest

from mentor_stream.broker import BrokerError, check
from mentor_stream.broker.kafka.settings import parse


def test_a_url_names_servers_and_options():
    settings = parse("kafka://one:9093,two,[::1]?send_timeout=2.5&compression=lz4", {})
    assert settings.servers == ("one:9093", "two:9092", "[::1]:9092")
    assert (settings.send_timeout, settings.compression) == (2.5, "lz4")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("kafka://", "expected kafka://host:port"),
        ("kafka://host/path", "expected kafka://host:port"),
        ("kafka://host:port", "host:port"),
        ("kafka://host?sendtimeout=1", "'sendtimeout': known are connect_timeout"),
        ("kafka://host?send_timeout=soon", "send_timeout=soon: expected seconds, from 0.01 to 86400"),
        ("kafka://host?send_timeout=0", "send_timeout=0: expected seconds, from 0.01 to 86400"),
        ("kafka://host?stall_timeout=1e7", "stall_timeout=1e7: expected seconds, from 0.01 to 86400"),
        ("kafka://host:0", "expected a port from 1 to 65535"),
        ("kafka://host?compression=zip", "compression=zip: expected one of none, gzip, lz4"),
        ("kafka://host?replication=3", "'replication': set topics.replication in the config"),
    ],
)
def test_a_url_that_cannot_work_is_refused_with_the_reason(url: str, problem: str):
    with pytest.raises(BrokerError, match=r"run\.broker") as refused:
        parse(url, {})
    assert problem in str(refused.value)


def test_the_check_of_a_run_refuses_what_connecting_would():
    with pytest.raises(BrokerError, match=r"ssl_cafile is /not/there\.pem: No such file"):
        check("kafka://host?security_protocol=SSL&ssl_cafile=/not/there.pem")


def test_credentials_in_a_url_are_refused_without_repeating_them():
    for url in (
        "kafka://ada:secret@host",
        "kafka://host?password=secret",
        "kafka://host?ssl_password=secret",
    ):
        with pytest.raises(BrokerError, match=r"MENTOR_STREAM_KAFKA_\w*PASSWORD") as refused:
            parse(url, {})
        assert "secret" not in str(refused.value).replace("a secret", "")

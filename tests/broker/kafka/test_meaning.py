"""What kafka-python's errors are turned into: the contract's terms, and words."""

import pytest
from kafka import errors

from mentor_stream.broker import BrokerError, BrokerUnavailable, UnknownTopic
from mentor_stream.broker.kafka.meaning import RETRIABLE, explained, reason
from mentor_stream.broker.kafka.settings import ConnectionSettings

SETTINGS = ConnectionSettings(("host:9092",))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (errors.RequestTimedOutError("Request timed out after 4999 ms"), "its nodes do not answer in time"),
        (errors.KafkaTimeoutError("it does not answer"), "its nodes do not answer in time"),
        (errors.NodeNotReadyError("No node_id provided"), "a node that is needed is away"),
        (errors.NotLeaderForPartitionError("a" * 9_000), "a partition has no node that leads it"),
        (errors.NotEnoughReplicasError(), "too few copies are in sync"),
        (errors.OutOfOrderSequenceNumberError(), "a node has lost count"),
    ],
)
def test_what_may_pass_is_unavailable_for_a_reason_in_words(error: errors.KafkaError, words: str):
    meant = explained(error, SETTINGS)
    assert isinstance(meant, BrokerUnavailable)
    assert str(meant).startswith(f"run.broker is kafka://host:9092: {words}")
    assert not {"[Error", "Error:"} & set(str(meant).split())
    assert len(str(meant)) < 200


def test_a_reason_that_we_have_no_words_for_is_kafkas_name_for_it():
    assert reason(errors.KafkaStorageError("text")) == reason(errors.KafkaStorageError) == "KafkaStorageError"


def test_what_nobody_knows_may_pass():
    assert isinstance(explained(errors.UnknownError("text"), SETTINGS), BrokerUnavailable)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (errors.UnknownTopicOrPartitionError("topic x"), UnknownTopic, "topic x does not exist"),
        (errors.TopicAuthorizationFailedError("x"), BrokerError, "allow it to the user ANONYMOUS"),
        (errors.InvalidSessionTimeoutError(), BrokerError, "session_timeout=10"),
        (errors.UnsupportedCodecError("no zstd"), BrokerError, "install the package zstandard"),
    ],
)
def test_what_does_not_pass_names_the_way_out(error: errors.KafkaError, kind: type, words: str):
    meant = explained(error, SETTINGS)
    assert type(meant) is kind
    assert words in str(meant)
    assert not isinstance(meant, BrokerUnavailable)
    assert issubclass(errors.RequestTimedOutError, RETRIABLE)

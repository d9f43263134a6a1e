"""What kafka-python complains of, in the contract's terms and in words that a user can act upon."""

from typing import cast

from kafka import errors

from mentor_stream.broker.base import BrokerError, BrokerUnavailable, MessageTooLarge, UnknownTopic
from mentor_stream.broker.kafka.settings import ConnectionSettings

RETRIABLE = cast("type[errors.KafkaError]", errors.RetriableError)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
"""Errors that may pass. (The type stubs in circulation are of kafka-python 2.)"""
TOO_LARGE = (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError)
_UNKNOWN_TOPIC = (errors.UnknownTopicOrPartitionError, errors.InvalidTopicError)
_OUT_OF_STEP = (
    errors.OutOfOrderSequenceNumberError,
    errors.UnknownProducerIdError,
    errors.InvalidProducerEpochError,
)
"""A node and a producer number messages differently: the producer begins again by itself, and whether this
message was appended is not known, as when none answers."""
PASSING = (RETRIABLE, *_OUT_OF_STEP, errors.BrokerNotAvailableError, errors.IncompatibleBrokerVersion)
"""What is known to pass, and told by its reason alone."""
_PACKAGES = {"snappy": "python-snappy", "zstd": "zstandard", "lz4": "lz4"}

_SILENT = "its nodes do not answer in time"
_AWAY = "a node that is needed is away"
_LEADERLESS = "a partition has no node that leads it"
_NO_CONTROLLER = "its controller has just moved"
_NO_COORDINATOR = "the group has no coordinator at the moment"
_TOO_FEW_COPIES = "too few copies are in sync (the topic's min.insync.replicas)"
_LOST_COUNT = "a node has lost count of this producer's messages, which begins again"
_REASONS: dict[type[errors.KafkaError], str] = {
    errors.RequestTimedOutError: _SILENT,
    errors.KafkaTimeoutError: _SILENT,
    errors.KafkaConnectionError: _AWAY,
    errors.NodeNotReadyError: _AWAY,
    errors.BrokerNotAvailableError: _AWAY,
    errors.LeaderNotAvailableError: _LEADERLESS,
    errors.NotLeaderForPartitionError: _LEADERLESS,
    errors.NotControllerError: _NO_CONTROLLER,
    errors.CoordinatorNotAvailableError: _NO_COORDINATOR,
    errors.CoordinatorLoadInProgressError: _NO_COORDINATOR,
    errors.NotCoordinatorError: _NO_COORDINATOR,
    errors.NotEnoughReplicasError: _TOO_FEW_COPIES,
    errors.NotEnoughReplicasAfterAppendError: _TOO_FEW_COPIES,
    errors.OutOfOrderSequenceNumberError: _LOST_COUNT,
    errors.UnknownProducerIdError: _LOST_COUNT,
    errors.InvalidProducerEpochError: _LOST_COUNT,
}


def reason(error: errors.KafkaError | type[errors.KafkaError]) -> str:
    """Why something did not happen, shortly: in our words, or by the name that Kafka has for it."""
    kind = error if isinstance(error, type) else type(error)
    return _REASONS.get(kind, kind.__name__)


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
    if isinstance(error, PASSING):
        return unavailable(settings, reason(error))
    return BrokerUnavailable(f"run.broker is {settings.url}: {error}")  # who knows: another try may do


def refused_as_too_large(topic: str, size: int) -> MessageTooLarge:
    """The error of a message of `size` bytes in all that passed our own look and not the cluster's."""
    return MessageTooLarge(
        f"topic {topic}: the cluster refuses a message of {size} bytes, key and headers counted: its limit "
        "was lowered meanwhile, or a node has one of its own. Raise the topic's max_record_bytes in [topics] "
        "and alter the topic, or send less"
    )


def _words(error: errors.KafkaError) -> str:
    """What it says, without kafka-python's numbers and names."""
    return " ".join(map(str, error.args)) or str(error)


def _missing_codec(text: str) -> str:
    for codec, package in _PACKAGES.items():
        if codec in text:
            return f"a message is compressed with {codec}: install the package {package} to read it"
    return text

"""kafka-python's producer with two things that it lacks: one refused message does not end it for all others,
and it tells why it keeps trying.

Both are about attributes that kafka-python keeps to itself; tests notice if they go.
"""

import logging
from collections.abc import MutableMapping
from typing import Any

from kafka import KafkaProducer as RawProducer
from kafka import errors

from mentor_stream.broker.kafka.quiet import Sparingly

log = logging.getLogger(__name__)
_said = Sparingly()

_TOO_FEW_COPIES = "too few copies are in sync (the topic's min.insync.replicas)"
_REASONS = {
    errors.NotEnoughReplicasError: _TOO_FEW_COPIES,
    errors.NotEnoughReplicasAfterAppendError: _TOO_FEW_COPIES,
    errors.RequestTimedOutError: "its nodes do not answer in time",
}


def watched_producer(refusals: MutableMapping[str, str], **options: Any) -> RawProducer:
    """A KafkaProducer that notes in `refusals`, per topic, why its last try failed."""
    raw = RawProducer(**options)
    _note_refusals(raw, refusals)
    _survive_refusals(raw)
    return raw


def _note_refusals(raw: Any, refusals: MutableMapping[str, str]) -> None:
    can_retry = raw._sender._can_retry

    def noting(batch: Any, error: type[errors.KafkaError]) -> bool:
        again = can_retry(batch, error)
        if again and not issubclass(error, errors.KafkaConnectionError):
            topic, reason = batch.topic_partition.topic, _REASONS.get(error, error.__name__)
            refusals[topic] = reason
            if _said.may_say((topic, reason)):
                log.warning("messages for %s are tried again: %s", topic, reason)
        return again

    raw._sender._can_retry = noting


def _survive_refusals(raw: Any) -> None:
    """A message that the broker refuses for good would put an idempotent producer out of order for ever.

    It was not appended, and nothing of its partition was sent after it: its number goes to the next one.
    """
    manager = raw._transaction_manager
    classify = manager.classify_batch_error

    def classified(error: errors.KafkaError, batch: Any, log_start_offset: int = -1) -> str:
        verdict = classify(error, batch, log_start_offset=log_start_offset)
        if verdict != manager.ERROR_CLASS_FATAL or type(error) in manager._FATAL_ERRORS:
            return verdict
        if batch.has_sequence:
            manager.set_sequence_number(batch.topic_partition, batch.base_sequence)
        return manager.ERROR_CLASS_RETRIABLE

    manager.classify_batch_error = classified

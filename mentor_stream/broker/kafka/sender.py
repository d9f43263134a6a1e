"""kafka-python's producer: its options, and what is mended of it.

It would stand still, spin, or not say what is wrong. All of the mending is about attributes that kafka-python
keeps to itself; tests notice if they go.
"""

# They have no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportMissingTypeStubs=false

import logging
from collections.abc import MutableMapping
from typing import Any

from kafka import KafkaProducer as RawProducer
from kafka import errors

from mentor_stream.broker.kafka.client import CLOSE_SECONDS
from mentor_stream.broker.kafka.courier import METADATA_WAIT_MS
from mentor_stream.broker.kafka.meaning import RETRIABLE, reason
from mentor_stream.broker.kafka.quiet import Sparingly
from mentor_stream.broker.kafka.settings import ConnectionSettings

log = logging.getLogger(__name__)
_said = Sparingly()

MAX_REQUEST_BYTES = 64 * 2**20
"""The largest request we make: above any topic limit of ours, below the 100 MB that brokers accept."""
BATCH_BYTES = 2**18
"""Small messages of one partition travel together up to this size."""
CONNECTING_MS = 20


def producer_options(settings: ConnectionSettings) -> dict[str, Any]:
    """kafka-python's options for appending."""
    send_ms = round(settings.send_timeout * 1000)
    return {
        "acks": "all",
        "enable_idempotence": True,
        "compression_type": None if settings.compression == "none" else settings.compression,
        "max_request_size": MAX_REQUEST_BYTES,
        "batch_size": BATCH_BYTES,
        "max_block_ms": min(METADATA_WAIT_MS, send_ms),
        "delivery_timeout_ms": send_ms,
        # tried twice at least: of a batch that was tried once kafka-python forgets that it may be there
        "request_timeout_ms": min(10_000, max(1, send_ms // 2)),
        "allow_auto_create_topics": False,
        "metrics_enabled": False,
    }


def close(raw: Any) -> None:
    """Disconnect, whatever is still under way."""
    try:
        raw.close(timeout=CLOSE_SECONDS)
    except errors.KafkaTimeoutError:
        # close() gives up when its flush does and leaves the thread running for ever
        raw._sender.force_close()


def mended_producer(refusals: MutableMapping[str, str], **options: Any) -> RawProducer:
    """A KafkaProducer that notes in `refusals`, per topic, why its last try failed."""
    raw: Any = RawProducer(**options)
    _note_refusals(raw._sender, refusals)
    _wait_for_connections(raw._sender._client)
    _survive_refusals(raw._transaction_manager)
    _survive_time_outs(raw._transaction_manager)
    _ask_again(raw._transaction_manager)
    return raw


def _note_refusals(sender: Any, refusals: MutableMapping[str, str]) -> None:
    can_retry = sender._can_retry

    def noting(batch: Any, error: type[errors.KafkaError]) -> bool:
        again = can_retry(batch, error)
        if again and not issubclass(error, errors.KafkaConnectionError):
            topic, why = batch.topic_partition.topic, reason(error)
            refusals[topic] = why
            if _said.may_say((topic, why)):
                log.warning("messages for %s are tried again: %s", topic, why)
        return again

    sender._can_retry = noting


def _wait_for_connections(client: Any) -> None:
    """In an outage the sender would look a thousand times a second whether it is over.

    It takes for milliseconds what are seconds, and for none those in which a connection is being made.
    """
    delay = client.connection_delay
    client.connection_delay = lambda node: max(CONNECTING_MS, 1000 * delay(node))


def _survive_refusals(manager: Any) -> None:
    """A message that is refused for good would end an idempotent producer, for all topics.

    It goes on under a new id instead. (To give the message's number to the next would be cheaper, and lose
    that one if the first was appended after all.)
    """
    classify = manager.classify_batch_error

    def classified(error: errors.KafkaError, batch: Any, log_start_offset: int = -1) -> str:
        verdict = classify(error, batch, log_start_offset=log_start_offset)
        if verdict != manager.ERROR_CLASS_FATAL or type(error) in manager._FATAL_ERRORS:
            return verdict
        manager.reset_producer_id()
        return manager.ERROR_CLASS_RETRIABLE

    manager.classify_batch_error = classified


def _survive_time_outs(manager: Any) -> None:
    """After a message that was given up the producer drops its id, and would never ask for another."""
    reset, states = manager.reset_producer_id, type(manager._current_state)

    def reset_to_the_beginning() -> None:
        reset()
        if manager._current_state == states.READY:
            manager._current_state = states.UNINITIALIZED

    manager.reset_producer_id = reset_to_the_beginning


def _ask_again(manager: Any) -> None:
    """A request for a producer id that is not answered in time would end the producer.

    It is made again, as kafka-python does when the connection is lost.
    """
    enqueue = manager._enqueue_request

    def enqueue_patient(handler: Any) -> None:
        complete = type(handler).on_complete

        def on_complete(number: int, answer: Any) -> None:
            passing = isinstance(answer, RETRIABLE)
            complete(handler, number, errors.KafkaConnectionError(str(answer)) if passing else answer)

        handler.on_complete = on_complete
        enqueue(handler)

    manager._enqueue_request = enqueue_patient

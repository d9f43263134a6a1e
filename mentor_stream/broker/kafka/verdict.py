"""How a message ended: what kafka-python says of it, as what its sender gets."""

from collections.abc import MutableMapping
from typing import Any

from kafka import KafkaProducer as RawProducer
from kafka import errors

from mentor_stream.broker.base import BrokerUnavailable, Receipt
from mentor_stream.broker.kafka.client import Client
from mentor_stream.broker.kafka.meaning import RETRIABLE, TOO_LARGE, refused_as_too_large
from mentor_stream.broker.kafka.parcel import Parcel


class Verdicts:
    """Of one producer. `refusals` has, per topic, why the last try failed (sender.py)."""

    def __init__(self, client: Client[RawProducer], refusals: MutableMapping[str, str]) -> None:
        self._client, self._refusals = client, refusals

    def of(self, parcel: Parcel, end: Any) -> Receipt | Exception:
        """The receipt in a message's metadata, or what its error means."""
        topic = parcel.topic
        if not isinstance(end, Exception):
            self._refusals.pop(topic, None)
            return Receipt(end.topic, end.partition, end.offset)
        if isinstance(end, errors.KafkaTimeoutError):
            return self.overdue(topic)
        if isinstance(end, TOO_LARGE):
            return refused_as_too_large(topic, parcel.size)
        if not isinstance(end, errors.KafkaError):
            return end
        # what may pass is tried again until the time is up
        failed = self._waited(topic) if isinstance(end, RETRIABLE) else _unacknowledged(topic)
        return self._client.explained(end, failed)

    def overdue(self, topic: str) -> BrokerUnavailable:
        """The error of a message for which the send time-out is over."""
        refusal, waited = self._refusals.get(topic), self._waited(topic)
        return self._client.unavailable(f"{waited}: {refusal}" if refusal else waited)

    def _waited(self, topic: str) -> str:
        return f"{_unacknowledged(topic)} within {self._client.settings.send_timeout:g} s (send_timeout)"


def _unacknowledged(topic: str) -> str:
    return f"a message for {topic} was not acknowledged"

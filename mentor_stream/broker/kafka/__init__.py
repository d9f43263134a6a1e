"""The Kafka engine, on kafka-python: its blocking clients, each behind one task, as the contract of base.py.

settings.py  what a kafka:// URL and the environment say about the cluster; security.py: who we are to it
client.py    one kafka-python client, one call at a time; meaning.py: its errors in our terms
network.py   its connections, what they receive (receiving.py), what is wrong with them (trouble.py), said
             once (quiet.py); headers.py: names of headers that are no text
admin.py     offsets and lag; topics.py makes, changes and describes topics
producer.py  durable appends, with bounded bytes under way (budget.py); courier.py takes each message
             (parcel.py) from the event loop to kafka-python's producer, into whose batches appending.py
             puts it, and which sender.py mends (handover.py: from its thread to the loop); verdict.py: how
             each message ended; losses.py: those that nobody waited for
consumer.py  membership in a group: a lane for each topic (lane.py) that takes turn after turn (turn.py)
reader.py    reading by position, from a source.py
intake.py    how both poll, and what they do about gaps; what they fetch is messages.py's, and what their
             clients know without asking is in knowledge.py
claim.py     being the only one: the only member of a group
cluster.py   the Broker that hands these out
"""

from dataclasses import replace

from mentor_stream.broker.kafka.cluster import connect, connected
from mentor_stream.broker.kafka.settings import parse


def check(url: str, *, copies: int) -> None:
    """Raises BrokerError for settings and files that cannot be. What the cluster can do shows later."""
    parse(url).client_options()


async def reach(url: str, seconds: float) -> None:
    """Connect and leave again. Raises BrokerError where that cannot be within `seconds`."""
    settings = parse(url)
    async with connected(replace(settings, connect_timeout=min(seconds, settings.connect_timeout))):
        pass


__all__ = ["check", "connect", "reach"]

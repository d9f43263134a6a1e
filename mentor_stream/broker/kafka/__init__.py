"""The Kafka engine, on kafka-python: its blocking clients, each behind one task, as the contract of base.py.

settings.py  what a kafka:// URL and the environment say about the cluster
client.py    one kafka-python client, one call at a time, and its errors in our terms
admin.py     topics, offsets and lag
producer.py  durable appends, with bounded bytes under way (budget.py)
consumer.py  membership in a group: a lane for each topic (lane.py), turn by turn (turn.py)
reader.py    reading by position; messages.py is how both poll
cluster.py   the Broker that hands these out
"""

from mentor_stream.broker.kafka.cluster import connect
from mentor_stream.broker.kafka.settings import parse


def check(url: str) -> None:
    """Raises BrokerError for a URL that cannot be. Whether the cluster answers shows when it is asked."""
    parse(url)


__all__ = ["check", "connect"]

"""The Kafka engine, on kafka-python: its blocking clients, each behind one task, as the contract of base.py.

settings.py  what a kafka:// URL and the environment say about the cluster
client.py    one kafka-python client, one call at a time, and its errors in our terms
admin.py     topics, offsets and lag
producer.py  durable appends with bounded bytes under way
consumer.py  membership in a group; turn.py is one round with its client
reader.py    reading by position
cluster.py   the Broker that hands these out
"""

from mentor_stream.broker.kafka.cluster import connect

__all__ = ["connect"]

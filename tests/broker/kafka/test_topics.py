"""How topics are made and kept on Kafka."""

from mentor_stream.broker import TopicSpec
from mentor_stream.broker.kafka.topics import topic_config


def test_a_topic_without_retention_keeps_everything():
    config = topic_config(TopicSpec("topic"))
    assert (config["retention.ms"], config["retention.bytes"]) == ("-1", "-1")


def test_segments_are_a_part_of_what_is_kept_but_hold_the_largest_message():
    config = topic_config(
        TopicSpec("topic", retention_seconds=60, retention_bytes=2**28, max_message_bytes=2**27)
    )
    assert (config["retention.ms"], config["segment.ms"]) == ("60000", "15000")
    assert 2**27 < int(config["segment.bytes"]) <= 2**28

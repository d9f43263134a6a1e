"""The rights that the chart has Strimzi give a run's user: they suffice, and reach no other run."""

from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from kafka import KafkaAdminClient
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
)

from mentor_stream import broker as brokers
from mentor_stream import stream as streams
from mentor_stream import topics
from mentor_stream.broker import BrokerError, TopicSpec
from mentor_stream.topics import TopicsConfig
from tests.broker.kafka.secure import PASSWORD, USER, SecureNode
from tests.builders import a_query
from tests.cluster import needs_nodes
from tests.deploy.chart import objects

pytestmark = [pytest.mark.anyio, pytest.mark.slow, needs_nodes]

RUN = "big"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "trio"


class GuardedNode(SecureNode):
    """Users may do nothing but what they were given the right to; who comes by the plain port may do all."""

    def _settings(self, node: int) -> dict[str, str]:
        return super()._settings(node) | {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }


def rights() -> list[ACL]:
    """As KafkaUser has them."""
    user = objects("multi-node", "KafkaUser")["kafka-user"]
    return [
        ACL(
            principal=f"User:{USER}",
            host="*",
            operation=_member(ACLOperation, operation),
            permission_type=ACLPermissionType.ALLOW,
            resource_pattern=ResourcePattern(
                _member(ResourceType, given["resource"]["type"]),
                given["resource"]["name"],
                {"prefix": ACLResourcePatternType.PREFIXED}[given["resource"]["patternType"]],
            ),
        )
        for given in user["spec"]["authorization"]["acls"]
        for operation in given["operations"]
    ]


def _member(kind: Any, name: str) -> Any:
    return next(one for one in kind if one.name.replace("_", "").lower() == name.lower())


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of the run's user, the password apart. The topics of two runs are there."""
    with GuardedNode(tmp_path_factory.mktemp("guarded")) as node:
        node.add_user()
        admin = KafkaAdminClient(bootstrap_servers=node.servers)
        admin.create_acls(rights())
        admin.close()
        specs = [spec for run in (RUN, "other") for spec in TopicsConfig().specs(run)]
        anyio.run(_create, node.url, specs, backend="trio")
        yield (
            f"kafka://{node.at('SASL_SSL')}?security_protocol=SASL_SSL&sasl_mechanism=SCRAM-SHA-512"
            f"&ssl_cafile={node.file('ca.pem')}&connect_timeout=5&send_timeout=5"
        )


async def _create(url: str, specs: list[TopicSpec]) -> None:
    async with brokers.connect(url) as broker:
        await broker.create_topics(specs)


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENTOR_STREAM_KAFKA_USERNAME", USER)
    monkeypatch.setenv("MENTOR_STREAM_KAFKA_PASSWORD", PASSWORD)


async def test_a_component_writes_works_off_and_reads_its_run(url: str) -> None:
    async with streams.connect(url, RUN, "feeder", TopicsConfig(create=False)) as stream:
        await stream.publish(topics.QUERIES, a_query())
        async with stream.consumer(topics.QUERIES, topics.GUIDED) as deliveries:
            async for delivery in deliveries:
                delivery.done()
                break
        async with stream.reader(topics.QUERIES, start="earliest", follow=False) as reader:
            assert len([delivery async for delivery in reader]) == 1
        assert await stream.lag(topics.QUERIES) == 0


async def test_it_can_be_its_run_s_only_trainer_and_no_other_run_s(url: str) -> None:
    async with brokers.connect(url) as broker:
        async with broker.claim(topics.POLICIES.of(RUN), group=f"{RUN}.trainer", holder="here"):
            pass
        with pytest.raises(BrokerError, match="has to allow it to the user"):
            async with broker.claim(topics.POLICIES.of("other"), group="other.trainer", holder="here"):
                pass


async def test_its_topics_can_be_looked_at(url: str) -> None:
    async with brokers.connect(url) as broker:
        assert {name for name in await broker.topics() if name.startswith(f"{RUN}.")}
        state = await broker.describe(topics.QUERIES.of(RUN))
        assert state.spec.partitions == TopicsConfig().partitions


async def test_it_may_not_touch_another_run(url: str) -> None:
    async with brokers.connect(url) as broker, broker.producer() as producer:
        with pytest.raises(BrokerError):
            await producer.send(topics.QUERIES.of("other"), b"key", b"value")

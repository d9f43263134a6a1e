"""The engines that the contract suite runs on: each test of it takes `broker_url` or `broker`.

What differs between them, such as how soon they forget, is a fixture here. No test asks which it runs on.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import Broker

FOREIGN = "KAFKA_BOOTSTRAP" in os.environ
"""Whether the Kafka cluster is not of our making, but perhaps one with Kafka's own settings."""
LEASE_SECONDS = {"sqlite": 1.5, "kafka": 6.0 if FOREIGN else 4.0}
"""A busy machine may keep a member from saying that it lives for a second or two."""


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture(params=["sqlite", "kafka"])
def broker_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A broker whose consumers are taken for dead after `lease` seconds without a sign of life.

    Options can be added with an ampersand.
    """
    lease = LEASE_SECONDS[request.param]
    if request.param == "kafka":
        return f"kafka://{request.getfixturevalue('kafka')}?session_timeout={lease}"
    return f"sqlite:///{tmp_path}/stream.db?lease={lease}"


@pytest.fixture
async def broker(broker_url: str) -> AsyncIterator[Broker]:
    """A connection to it."""
    async with brokers.connect(broker_url) as broker:
        yield broker


@pytest.fixture
def lease(broker_url: str) -> float:
    """Seconds after which the broker takes a consumer for dead."""
    return LEASE_SECONDS[broker_url.partition(":")[0]]


@pytest.fixture
def patience(broker_url: str) -> float:
    """Seconds within which retention takes what it may: Kafka by itself looks every five minutes."""
    return 700.0 if FOREIGN and broker_url.startswith("kafka") else 30.0


@pytest.fixture
def name() -> str:
    """A name for topics and groups that no other test uses: a cluster outlives the test."""
    return f"test-{uuid4().hex[:12]}"

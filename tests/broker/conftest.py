"""The engines that the contract suite runs on: each test of it takes `broker_url`."""

from pathlib import Path
from uuid import uuid4

import pytest

LEASE_SECONDS = {"sqlite": 1.0, "kafka": 2.0}


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture(params=["sqlite", "kafka"])
def broker_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A broker whose consumers are taken for dead after `lease` seconds without a sign of life."""
    lease = LEASE_SECONDS[request.param]
    if request.param == "kafka":
        return f"kafka://{request.getfixturevalue('kafka')}?session_timeout={lease}"
    return f"sqlite:///{tmp_path}/stream.db?lease={lease}"


@pytest.fixture
def lease(broker_url: str) -> float:
    """Seconds after which the broker takes a consumer for dead."""
    return LEASE_SECONDS[broker_url.partition(":")[0]]


@pytest.fixture
def name() -> str:
    """A name for topics and groups that no other test uses: a cluster outlives the test."""
    return f"test-{uuid4().hex[:12]}"

"""The engines that the contract suite runs on: each test of it takes `broker_url`."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

LEASE_SECONDS = {"sqlite": 1.0, "kafka": 2.0}
KAFKA_START = Path(__file__).parents[3] / "shared" / "kafka" / "start"


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


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """host:port of a Kafka cluster: that of KAFKA_BOOTSTRAP, or one node for this session."""
    given = os.environ.get("KAFKA_BOOTSTRAP")
    if given:
        yield given
        return
    if not KAFKA_START.exists():
        pytest.skip("no Kafka here: set KAFKA_BOOTSTRAP=host:port to run these tests against a cluster")
    port = _free_port()
    started = subprocess.run(
        [KAFKA_START, str(port), tmp_path_factory.mktemp("kafka"), "group.min.session.timeout.ms=1000"],
        check=True,
        stdout=subprocess.PIPE,
        timeout=90,
    )
    yield f"127.0.0.1:{port}"
    for process in started.stdout.split():
        os.kill(int(process), 9)


def _free_port() -> int:
    # Clear of the ephemeral ports, where a client's own connection might take the controller's.
    for port in range(19_092, 19_192):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise RuntimeError("no free port for Kafka between 19092 and 19191")

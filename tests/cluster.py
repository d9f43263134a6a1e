"""A real Apache Kafka for the tests that want one."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

KAFKA_START = Path(__file__).parents[2] / "shared" / "kafka" / "start"


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

"""deploy/compose.yaml: what Docker users get is a broker that works, as far as can be seen without Docker."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from mentor_stream import broker as brokers
from mentor_stream.broker import TopicSpec
from tests.cluster import Cluster, needs_nodes

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "deploy" / "compose.yaml"
NEARBY = ROOT.parent / "shared" / "bin" / "docker-compose"

PLACES = ("LISTENERS", "LOG_DIRS", "VOTERS", "PROTOCOL_MAP")
"""Settings that say where, which a test decides for itself."""


def kafka_service() -> dict[str, Any]:
    return yaml.safe_load(COMPOSE.read_text())["services"]["kafka"]


def test_the_broker_can_be_reached_from_this_machine_only() -> None:
    assert all(port.startswith("127.0.0.1:") for port in kafka_service()["ports"])


def test_compose_accepts_the_file() -> None:
    compose = NEARBY if NEARBY.exists() else shutil.which("docker-compose")
    if compose is None:
        pytest.skip("no docker-compose here")
    subprocess.run([compose, "--file", COMPOSE, "config", "--quiet"], check=True, timeout=60)


@needs_nodes
@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_a_node_starts_with_its_settings_and_takes_our_topics(
    tmp_path: Path, anyio_backend: str
) -> None:
    settings = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): str(value)
        for name, value in kafka_service()["environment"].items()
        if not name.endswith(PLACES)
    }
    with Cluster(tmp_path, properties=settings) as cluster:
        async with brokers.connect(cluster.url) as broker, broker.producer() as producer:
            await broker.create_topics([TopicSpec("topic", partitions=4)])
            assert (await producer.send("topic", b"key", b"value")).offset == 0

"""deploy/compose.yaml: what Docker users get is a broker that works, as far as can be seen without Docker."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from mentor_stream import broker as brokers
from mentor_stream.broker import TopicSpec
from mentor_stream.component import check, components, load_config
from producers.datasets.base import DataConfig
from tests.cluster import Cluster, needs_nodes

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "deploy" / "compose.yaml"
NEARBY = ROOT.parent / "shared" / "bin" / "docker-compose"

PLACES = ("LISTENERS", "LOG_DIRS", "VOTERS", "PROTOCOL_MAP")
"""Settings that say where, which a test decides for itself."""


def described() -> dict[str, Any]:
    """The services as they stand there, of all profiles."""
    return yaml.safe_load(COMPOSE.read_text())["services"]


def composed(*profiles: str, **environment: str) -> dict[str, Any]:
    """The services as compose understands them, with these profiles."""
    compose = NEARBY if NEARBY.exists() else shutil.which("docker-compose")
    if compose is None:
        pytest.skip("no docker-compose here: https://docs.docker.com/compose/install")
    chosen = [word for profile in profiles for word in ("--profile", profile)]
    command = [compose, "--file", COMPOSE, *chosen, "config", "--format", "json"]
    done = subprocess.run(
        command, check=True, timeout=60, capture_output=True, text=True, env=os.environ | environment
    )
    return json.loads(done.stdout)


def test_nothing_can_be_reached_from_other_machines() -> None:
    for service in composed("cpu", "gpu")["services"].values():
        assert all(port["host_ip"] == "127.0.0.1" for port in service.get("ports", ()))


def test_kafka_comes_alone_unless_a_profile_is_named() -> None:
    assert set(composed()["services"]) == {"kafka"}


@pytest.mark.parametrize(("profile", "other"), [("cpu", "gpu"), ("gpu", "cpu")])
def test_a_profile_has_every_component_once(profile: str, other: str) -> None:
    services = composed(profile)["services"]
    assert set(services) == {"kafka", "feeder", "mentor", "evaluator", "monitor"} | {
        f"rollout-{profile}", f"trainer-{profile}"
    }  # fmt: skip
    assert not any(name.endswith(other) for name in services)


@pytest.mark.parametrize("profile", ["cpu", "gpu"])
def test_components_meet_on_the_kafka_beside_them_and_write_to_the_volume_alone(profile: str) -> None:
    document = composed(profile)
    kafka = document["services"].pop("kafka")["environment"]
    for service in document["services"].values():
        broker = service["environment"]["MENTOR_STREAM__RUN__BROKER"].removeprefix("kafka://")
        assert f"PLAINTEXT://{broker}" in kafka["KAFKA_ADVERTISED_LISTENERS"].split(",")
        written = [mount["target"] for mount in service["volumes"] if not mount.get("read_only")]
        assert written == ["/srv/mentor-stream/runs"]
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]


@pytest.mark.parametrize(
    ("config", "profile"), [("../examples/chain/demo.toml", "cpu"), ("gpu.toml", "gpu")], ids=["cpu", "gpu"]
)
def test_the_config_of_a_profile_is_fine_where_it_is_mounted(
    config: str, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = composed(profile, CONFIG=config)
    file = Path(document["configs"]["run"]["file"])
    for service in document["services"].values():
        for name, value in service["environment"].items() if "configs" in service else ():
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(ROOT)  # of which examples/ is mounted
    read = load_config(file)
    assert read.run.broker == "kafka://kafka:19092"
    assert read.run.directory.parts[0] == "runs"
    assert read.run.policy.parts[0] == read.of(DataConfig).train.parts[0] == "examples"
    others = [one for name, one in components().items() if name != "rollout"]
    check(read, others if profile == "gpu" else None)  # the image alone has a vLLM


class _Health(BaseHTTPRequestHandler):
    status: ClassVar[int]

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.mark.parametrize("name", ["feeder", "monitor"])
def test_a_health_check_passes_when_the_answer_is_good_and_only_then(name: str) -> None:
    check = described()[name]["healthcheck"]["test"]
    assert isinstance(check, str), "for a shell: Podman parts a list of words at their spaces"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    codes: list[int] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), _Health) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        there = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{server.server_port}", check)
        for _Health.status in (200, 503):
            done = subprocess.run(
                ["sh", "-c", there], env=os.environ | {"PATH": path}, stderr=subprocess.DEVNULL
            )
            codes.append(done.returncode)
        server.shutdown()
    assert codes == [0, 1]


@needs_nodes
@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_a_node_starts_with_its_settings_and_takes_our_topics(
    tmp_path: Path, anyio_backend: str
) -> None:
    settings = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): str(value)
        for name, value in described()["kafka"]["environment"].items()
        if not name.endswith(PLACES)
    }
    with Cluster(tmp_path, properties=settings) as cluster:
        async with brokers.connect(cluster.url) as broker, broker.producer() as producer:
            await broker.create_topics([TopicSpec("topic", partitions=4)])
            assert (await producer.send("topic", b"key", b"value")).offset == 0

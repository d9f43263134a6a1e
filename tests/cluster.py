"""A real Apache Kafka for the tests that want one: nodes they may kill, stop and bring back with their data.

KAFKA_BOOTSTRAP=host:port names a cluster that runs already (deploy/compose.yaml starts one); tests that
kill nodes or set up their own security need KAFKA_HOME, an unpacked distribution, and Java 17 or newer.
On a cluster with Kafka's own settings that takes an hour or more: it forgets every five minutes only.
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

START_SECONDS = 180
_NEARBY = Path(__file__).parents[2] / "shared" / "kafka"
_NO_KAFKA = "no Kafka to start"
_LOGGING = """
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %m (%c)%n
"""


class Cluster:
    """Nodes 1, 2... of one cluster, each broker and controller, on ports of one address.

    `prefix` is put before the command of each, to run it where that address is.
    """

    def __init__(
        self,
        directory: Path,
        nodes: int = 1,
        *,
        protocol: str = "PLAINTEXT",
        properties: Mapping[str, str] | None = None,
        address: str = "127.0.0.1",
        prefix: Sequence[str] = (),
    ) -> None:
        self._address, self._prefix = address, list(prefix)
        self._directory, self._protocol, self._properties = directory, protocol, dict(properties or {})
        self._ports = dict(enumerate(free_ports(nodes), start=1))
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def nodes(self) -> list[int]:
        """All node numbers, as brokers know themselves."""
        return list(self._ports)

    @property
    def servers(self) -> str:
        """host:port of every node, comma-separated."""
        return ",".join(f"{self._address}:{port}" for port in self._ports.values())

    @property
    def url(self) -> str:
        """As run.broker."""
        return f"kafka://{self.servers}"

    def __enter__(self) -> "Cluster":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill what runs."""
        for node in list(self._processes):
            self.kill(node)

    def start(self, *nodes: int) -> None:
        """Start these nodes, all by default, where they are down; returns when they answer."""
        down = [node for node in nodes or self.nodes if not self._runs(node)]
        for node in down:
            self._launch(node)
        for node in down:
            self._wait_for(node)

    def kill(self, node: int) -> None:
        """As a crash would; returns when it is gone. Its data stays."""
        process = self._processes.pop(node)
        process.kill()
        process.wait()

    def stop(self, node: int) -> None:
        """Make it hang (SIGSTOP): connections stay open and nothing answers from when this returns."""
        process = self._processes[node]
        process.send_signal(signal.SIGSTOP)
        while not all(map(_has_stopped, Path(f"/proc/{process.pid}/task").glob("*/stat"))):
            time.sleep(0.001)

    def resume(self, node: int) -> None:
        """Let it go on (SIGCONT)."""
        self._processes[node].send_signal(signal.SIGCONT)

    def _runs(self, node: int) -> bool:
        return node in self._processes and self._processes[node].poll() is None

    def _launch(self, node: int) -> None:
        home = self._directory / str(node)
        home.mkdir(parents=True, exist_ok=True)
        settings = home / "server.properties"
        settings.write_text("\n".join(f"{name}={value}" for name, value in self._settings(node).items()))
        (home / "log4j2.properties").write_text(_LOGGING)
        if not (home / "data" / "meta.properties").exists():
            format_ = _java(home, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(settings))
            subprocess.run(format_, check=True, capture_output=True, timeout=START_SECONDS)
        with (home / "server.log").open("wb") as log:
            self._processes[node] = subprocess.Popen(
                [*self._prefix, *_java(home, "kafka.Kafka", str(settings))],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _wait_for(self, node: int) -> None:
        log, deadline = self._directory / str(node) / "server.log", time.monotonic() + START_SECONDS
        while b"Kafka Server started" not in log.read_bytes():
            if not self._runs(node) or time.monotonic() > deadline:
                raise RuntimeError(f"Kafka node {node} did not start:\n{log.read_text()[-3000:]}")
            time.sleep(0.05)

    def _settings(self, node: int) -> dict[str, str]:
        copies = min(3, len(self._ports))
        acknowledging = max(1, copies - 1)
        voters = ",".join(f"{n}@{self._address}:{_controller(port)}" for n, port in self._ports.items())
        port, at = self._ports[node], self._address
        return {
            "process.roles": "broker,controller",
            "node.id": str(node),
            "controller.quorum.voters": voters,
            "listeners": f"{self._protocol}://{at}:{port},CONTROLLER://{at}:{_controller(port)}",
            "advertised.listeners": f"{self._protocol}://{at}:{port}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": self._protocol,
            "listener.security.protocol.map": (f"CONTROLLER:PLAINTEXT,{self._protocol}:{self._protocol}"),
            "log.dirs": str(self._directory / str(node) / "data"),
            "auto.create.topics.enable": "false",
            "default.replication.factor": str(copies),
            "min.insync.replicas": str(acknowledging),
            "offsets.topic.replication.factor": str(copies),
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": str(copies),
            "transaction.state.log.min.isr": str(acknowledging),
            "transaction.state.log.num.partitions": "4",
            "share.coordinator.state.topic.replication.factor": str(copies),
            "share.coordinator.state.topic.min.isr": str(acknowledging),
            "group.initial.rebalance.delay.ms": "0",
            "group.min.session.timeout.ms": "1000",
        } | self._properties


FORGETS_FAST = {
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "300",
    "file.delete.delay.ms": "1000",
}
"""Otherwise a node looks every five minutes what its topics may forget."""

CLUSTER_ID = "bWVudG9yLXN0cmVhbS10cw"


def distribution() -> Path | None:
    """Where Kafka's jars are, when nodes can be started here."""
    return None if why_no_nodes() else _home()


def why_no_nodes() -> str:
    """What keeps nodes from being started here, and the way out; nothing when they can be."""
    if not (_home() / "libs").is_dir():
        given = os.environ.get("KAFKA_HOME")
        wrong = f"KAFKA_HOME is {given}, where there is no directory libs: " if given else ""
        return f"{_NO_KAFKA}: {wrong}set KAFKA_HOME to an unpacked Apache Kafka and install Java 17 or newer"
    if not shutil.which("java"):
        return f"{_NO_KAFKA}: there is no java on the PATH: install Java 17 or newer"
    return ""


def _home() -> Path:
    return Path(os.environ.get("KAFKA_HOME") or _NEARBY)


needs_nodes = pytest.mark.skipif(bool(why_no_nodes()), reason=why_no_nodes() or "nodes can be started")
"""For tests that start, kill or configure nodes of their own."""


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """host:port of a Kafka cluster: that of KAFKA_BOOTSTRAP, or one node for this session."""
    given = os.environ.get("KAFKA_BOOTSTRAP")
    if given:
        yield given
    elif reason := why_no_nodes():
        pytest.skip(f"{reason}; or set KAFKA_BOOTSTRAP to the host:port of a cluster")
    else:
        with Cluster(tmp_path_factory.mktemp("kafka"), properties=FORGETS_FAST) as cluster:
            yield cluster.servers


def _java(home: Path, *command: str) -> list[str]:
    logging = f"-Dlog4j2.configurationFile={home / 'log4j2.properties'}"
    return [
        "java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", logging,
        "-cp", f"{distribution()}/libs/*", *command,
    ]  # fmt: skip


def _has_stopped(thread: Path) -> bool:
    """Each of a process's threads stops when it comes to it."""
    return thread.read_text().rpartition(")")[2].split()[0] == "T"


def _controller(port: int) -> int:
    return port + 8_000


def free_ports(count: int) -> list[int]:
    """Below the ephemeral ports, where a client might take one; random, since runs may be parallel."""
    ports: list[int] = []
    while len(ports) < count:
        port = random.randrange(16_000, 24_000)
        if all(map(_is_free, (port, _controller(port)))):
            ports.append(port)
    return ports


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0

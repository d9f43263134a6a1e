"""Where the suite gets its Kafka from, and what it says when there is none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import cluster

ROOT = Path(__file__).parents[1]
BOTH_ENGINES = "tests/broker/test_reading.py::test_reading_by_time_starts_at_the_first_message_appended_then"


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A java on the PATH, and no Kafka."""
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setattr(cluster, "_NEARBY", tmp_path / "nowhere")
    monkeypatch.delenv("KAFKA_HOME", raising=False)
    return program


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, java: Path) -> Path:
    """An unpacked Kafka that KAFKA_HOME names."""
    home = tmp_path / "kafka"
    (home / "libs").mkdir(parents=True)
    monkeypatch.setenv("KAFKA_HOME", str(home))
    return home


def test_nodes_are_started_from_kafka_home(home: Path):
    assert (cluster.distribution(), cluster.why_no_nodes()) == (home, "")


def test_without_a_kafka_both_things_to_install_are_named(java: Path):
    assert cluster.distribution() is None
    assert "set KAFKA_HOME to an unpacked Apache Kafka and install Java 17" in cluster.why_no_nodes()


def test_without_java_it_is_missed(home: Path, java: Path):
    java.unlink()
    assert cluster.distribution() is None
    assert "install Java 17" in cluster.why_no_nodes()


def test_a_kafka_home_that_is_none_is_named_and_not_replaced_by_another(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cluster, "_NEARBY", home)
    monkeypatch.setenv("KAFKA_HOME", "/no/kafka")
    assert cluster.distribution() is None
    assert "KAFKA_HOME is /no/kafka" in cluster.why_no_nodes()


def test_without_a_kafka_its_half_is_skipped_with_the_way_to_get_one():
    output = run_both_engines(KAFKA_HOME="/no/kafka")
    assert "1 passed, 1 skipped" in output
    assert "KAFKA_HOME is /no/kafka" in output
    assert "or set KAFKA_BOOTSTRAP to the host:port of a cluster" in output


def test_a_cluster_that_runs_already_is_used_as_it_is(kafka: str):
    assert "2 passed" in run_both_engines(KAFKA_HOME="/no/kafka", KAFKA_BOOTSTRAP=kafka)


def run_both_engines(**environment: str) -> str:
    """What pytest prints when these variables say where Kafka is."""
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", BOTH_ENGINES]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_")}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=inherited | {"COLUMNS": "500"} | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr

"""What is served, to well-behaved clients beside many that are not."""

import json
import os
import resource
import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from mentor_stream.component import load_config
from mentor_stream.config import Config, ConfigError
from mentor_stream.metrics import catalogue, listening, server
from mentor_stream.metrics.exposition import Exposition
from mentor_stream.metrics.health import Health
from mentor_stream.metrics.listening import Address
from mentor_stream.metrics.readings import Readings
from mentor_stream.metrics.server import MOST_CLIENTS, Site, listen
from tests.metrics.asking import ask, until
from tests.runs import write_config

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


@pytest.fixture
def health() -> Health:
    return Health()


@pytest.fixture
def address(health: Health) -> Iterator[str]:
    site = Site(health, Exposition("demo", "rollout", Readings(), health).text)
    with listen("127.0.0.1:0", site) as bound:
        yield str(bound)


def config(directory: Path, listen: str = "") -> Config:
    path = Path(write_config(directory))
    if listen:
        path.write_text(f'{path.read_text()}\n[telemetry]\nlisten = "{listen}"\n')
    return load_config(path)


@contextmanager
def connected(address: str) -> Generator[socket.socket]:
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        yield client


def test_metrics_are_served_with_their_help_and_type_under_run_and_component(address: str) -> None:
    reply = ask(address, "/metrics")
    families = {family.name: family for family in parse_text(reply.body)}
    assert reply.status == 200
    assert reply.content_type.startswith("text/plain")
    for measure in catalogue.of("rollout"):
        family = families[measure.name.removesuffix("_total")]
        assert family.type == measure.kind.value
        if measure.name.startswith("mentor_stream"):
            assert family.documentation == measure.means
    for family in families.values():
        for sample in family.samples:
            assert (sample.labels["run"], sample.labels["component"]) == ("demo", "rollout")


def test_a_scraper_that_asks_for_openmetrics_gets_it(address: str) -> None:
    reply = ask(address, "/metrics", accept=OPENMETRICS)
    assert reply.content_type.startswith("application/openmetrics-text")
    assert list(parse_openmetrics(reply.body))


@pytest.mark.parametrize(
    "version", ["evil", "1.0.0.\xff", "9" * 5000, "1.0.0; escaping=nonsense", "\nX-Own: header"]
)
def test_whatever_a_client_accepts_it_is_answered_and_none_of_it_comes_back(
    address: str, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked = f"GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text; version={version}\r\n\r\n"
    with connected(address) as client:
        client.sendall(asked.encode("latin-1"))
        answer = client.makefile("rb").read().decode()
    head, _, body = answer.partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 200 OK")
    assert version not in head
    assert list(parse_openmetrics(body))
    assert not caplog.records


def test_a_text_is_good_for_a_while_whoever_asks_for_which_form(health: Health) -> None:
    made: list[str] = []
    site = Site(health, lambda form: (f"{made.append(form)}".encode(), form))
    for number in range(10):
        site.answer("GET", "/metrics", f"application/openmetrics-text; version=1.0.{number}")
        site.answer("GET", "/metrics", f"text/plain; version=1.0.{number}")
    assert made == [server.OPENMETRICS, ""]


def test_health_and_readiness_are_told_with_the_reason(address: str, health: Health) -> None:
    health.needs("the broker")
    assert ask(address, "/healthz") == (200, "ok\n", server.PLAIN)
    assert ask(address, "/readyz") == (503, "the broker: not yet\n", server.PLAIN)
    health.has("the broker")
    assert ask(address, "/readyz").status == 200
    health.watch("the loop", within=1, now=-1e9)
    assert ask(address, "/healthz").status == ask(address, "/readyz").status == 503
    assert "the loop has not turned" in ask(address, "/healthz").body
    assert "mentor_stream_alive{" in ask(address, "/metrics").body


def test_alive_and_ready_are_metrics_too(health: Health) -> None:
    health.needs("the broker")
    site = Site(health, Exposition("demo", "rollout", Readings(), health).text)
    text = site.answer("GET", "/metrics", "").body.decode()
    assert 'mentor_stream_alive{component="rollout",run="demo"} 1.0' in text
    assert 'mentor_stream_ready{component="rollout",run="demo"} 0.0' in text


def test_whatever_else_is_asked_is_refused(address: str) -> None:
    assert ask(address, "/").status == ask(address, "/metricsx").status == 404
    assert ask(address, "/metrics", method="POST").status == 405
    assert ask(address, "/healthz?x=1").status == 200
    head = ask(address, "/healthz", method="HEAD")
    assert (head.status, head.body) == (200, "")


@pytest.mark.parametrize(
    "nonsense",
    [b"", b"\r\n\r\n", b"\x00\xff" * 50 + b"\r\n\r\n", b"GET", b"A" * 100_000, b"GET /metrics\r\n\r\n"],
)
def test_nonsense_harms_nobody(address: str, nonsense: bytes) -> None:
    with connected(address) as client:
        try:
            client.sendall(nonsense)
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
        except OSError:
            pass
    assert ask(address, "/healthz").status == 200


def test_a_quick_client_is_answered_beside_any_number_of_slow_ones_and_they_are_let_go(address: str) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(connected(address)) for _ in range(10 * MOST_CLIENTS)]
        for client in slow:
            try:
                client.sendall(b"GET /metrics HTTP/1.1\r\nX-Slow: ")
            except OSError:
                continue
        assert ask(address, "/healthz").status == 200
        first = slow[0]
        assert until(lambda: _is_hung_up(first))


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _is_hung_up(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except OSError:
        return True


def test_a_flood_of_connections_leaves_the_component_its_files_and_threads(address: str) -> None:
    threads = threading.active_count()
    before = open_files()
    most = min(300, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
    with ExitStack() as stack:
        mine = [stack.enter_context(connected(address)) for _ in range(most)]
        # what the server still holds of them is bounded; the rest is ours
        assert until(lambda: open_files() <= before + len(mine) + MOST_CLIENTS + 1)
        assert threading.active_count() <= threads
        assert ask(address, "/metrics").status == 200


def test_a_port_that_somebody_has_is_told_with_setting_and_value(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(
                ConfigError, match=f"telemetry.listen is '127.0.0.1:{port}': Address already in use"
            ),
            server.serving(config(tmp_path, f"127.0.0.1:{port}"), "feeder"),
        ):
            pass


def test_any_free_port_is_named_in_a_file_for_prometheus_as_long_as_it_is_served(tmp_path: Path) -> None:
    made = config(tmp_path)
    directory = made.run.directory / "telemetry"
    with server.serving(made, "feeder") as bound:
        (path,) = directory.iterdir()
        assert json.loads(path.read_text()) == [
            {"targets": [str(bound)], "labels": {"run": "run", "component": "feeder"}}
        ]
        assert ask(str(bound), "/healthz").status == 200
    assert list(directory.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_told_in_the_log_and_stops_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = config(tmp_path)
    made.run.directory.mkdir()
    (made.run.directory / "telemetry").write_text("in the way")
    with server.serving(made, "feeder") as bound:
        assert ask(str(bound), "/healthz").status == 200
        assert f"metrics are at {bound}, and Prometheus is not told" in caplog.text


def test_files_of_processes_that_were_killed_are_removed_by_the_next_and_others_stay(tmp_path: Path) -> None:
    made = config(tmp_path)
    directory = made.run.directory / "telemetry"
    directory.mkdir(parents=True)
    dead = directory / f"rollout.{socket.gethostname()}.4194305.json"  # beyond the largest process id
    alive = directory / f"rollout.{socket.gethostname()}.{os.getppid()}.json"
    elsewhere = directory / "rollout.another-host.4194305.json"
    for path in (dead, alive, elsewhere):
        path.write_text("[]")
    with server.serving(made, "feeder"):
        assert not dead.exists()
        assert alive.exists()
        assert elsewhere.exists()


def test_off_serves_nothing_and_a_fixed_port_needs_no_file(tmp_path: Path) -> None:
    with server.serving(config(tmp_path, "off"), "feeder") as bound:
        assert bound is None
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with server.serving(config(tmp_path, f"127.0.0.1:{port}"), "feeder") as bound:
        assert bound == Address("127.0.0.1", port)
    assert not (tmp_path / "run" / "telemetry").exists()


@pytest.mark.parametrize(
    "wrong", ["9464", "localhost", "127.0.0.1:70000", "::1:80", "http://x:1", ":80", "٣:٣"]
)
def test_an_address_that_is_none_is_refused_with_an_example(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"telemetry.listen is .*expected HOST:PORT, such as"):
        config(tmp_path, wrong)


@pytest.mark.parametrize("listen", ["127.0.0.1:9464", "[::1]:0", "0.0.0.0:80", "localhost:1"])
def test_an_address_is_written_as_it_is_read(listen: str) -> None:
    assert str(listening.parse(listen)) == listen


def test_components_of_one_machine_get_a_fixed_port_each(tmp_path: Path) -> None:
    fixed = config(tmp_path, "0.0.0.0:9464")
    assert listening.override(fixed, 0) == {listening.LISTEN: "0.0.0.0:9464"}
    assert listening.override(fixed, 3) == {listening.LISTEN: "0.0.0.0:9467"}
    assert listening.override(config(tmp_path), 3) == listening.override(config(tmp_path, "off"), 3) == {}

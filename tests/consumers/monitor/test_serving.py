"""What the server answers, and to whom."""

import json
import os
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest

from mentor_stream import stream, topics
from tests.cluster import Cluster, needs_nodes
from tests.consumers.monitor.served import a_lesson, a_step, publish, serving
from tests.runs import as_json, mentor_stream, url, write_config


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served")
    publish(url(path), *a_lesson(1), *(a_step(n, 1e9 + n, reward=0.25) for n in range(3)))
    write_config(path, name="run")
    return path


@pytest.fixture(scope="module")
def address(directory: Path) -> Iterator[str]:
    with serving(str(directory / "run.toml")) as address:
        next(events(address, caught_up=True))
        yield address


class Answer:
    """Status, headers and body."""

    def __init__(self, address: str, path: str = "", **headers: str) -> None:
        asked = urllib.request.Request(address + path, headers=headers)
        try:
            with urllib.request.build_opener(NoRedirect).open(asked, timeout=30) as got:
                self.status, self.headers, self.body = got.status, got.headers, got.read().decode()
        except urllib.error.HTTPError as got:
            self.status, self.headers, self.body = got.code, got.headers, got.read().decode()

    def json(self) -> Any:
        return json.loads(self.body)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def events(
    address: str, last: str = "", *, caught_up: bool = False, **headers: str
) -> Iterator[tuple[str, str, Any]]:
    """Server-sent events as (id, kind, document); only those of a board that has caught up, if wanted."""
    asked = urllib.request.Request(f"{address}events", headers={"Last-Event-ID": last, **headers})
    with urllib.request.urlopen(asked, timeout=30) as stream_:
        assert stream_.headers["content-type"].startswith("text/event-stream")
        lines: dict[str, str] = {}
        for raw in stream_:
            name, _, value = raw.decode().rstrip("\n").partition(": ")
            if name:
                lines[name] = value
                continue
            document = json.loads(lines["data"])
            if not caught_up or document["status"]["caught_up"]:
                yield lines["id"], lines["event"], document


def test_another_run_on_the_broker_is_named_behind_a_colon(directory: Path):
    own = as_json("monitor", str(directory / "run.toml"))
    config = write_config(directory, name="other")
    another = as_json("monitor", f"{config}:run")
    assert another["run"] == own["run"] == "run"
    assert another["hints"] == own["hints"] != []
    assert "no topic 'other.queries'" in mentor_stream("monitor", config, "--json").stderr


def test_the_page_is_whole_and_nothing_of_it_is_from_elsewhere(address: str):
    page = Answer(address)
    assert page.status == 200
    assert "default-src 'none'; script-src 'self'" in page.headers["content-security-policy"]
    assert not re.search(r"<script>|onclick|style=|https?://(?!www.w3.org)", page.body)
    wanted = re.findall(r"(?:src|href)=\"([\w.]+)\"", page.body)
    while wanted:
        file = Answer(address, wanted.pop())
        assert file.status == 200
        assert "http://" not in file.body.replace("http://www.w3.org/2000/svg", "")
        wanted += re.findall(r"from \"\./([\w.]+)\"", file.body)


def test_the_state_is_what_the_command_prints(address: str, directory: Path):
    served, printed = Answer(address, "state").json(), as_json("monitor", str(directory / "run.toml"))
    for document in (served, printed):
        del document["status"]
    assert served == printed
    assert [point[1] for point in served["curves"]["reward"]["points"]] == [0.25] * 3
    assert served["hints"]["newest"][0]["causes"] == ["cannot count"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("question?key=..%2F..%2Fetc", 400),
        ("question", 400),
        ("question?key=0123456789abcdef&before=nan", 400),
        ("hints?before=-1", 400),
        ("hints?before=yesterday", 400),
        ("hints?search=" + "a" * 201, 400),
        ("hints?search=" + "a" * 5_000, 414),
        ("questions?search=" + "a" * 201, 400),
        ("questions", 400),
        ("questions?search=x&before=soon", 400),
        ("questions?search=x", 200),
        ("../../etc/passwd", 404),
        ("%2e%2e/web.py", 404),
        ("page/index.html", 404),
        ("monitor.py", 404),
        ("question?key=0123456789abcdef", 200),
    ],
)
def test_what_makes_no_sense_is_refused(address: str, path: str, status: int):
    assert Answer(address, path).status == status


def test_no_other_name_is_answered_so_that_no_foreign_page_can_read_along(address: str):
    assert Answer(address, "state", Host="evil.example").status == 421
    assert Answer(address, "state", Host="localhost:1").status == 200


def test_nothing_but_reading_is_offered(address: str):
    for path in ("", "state", "hints"):
        with pytest.raises(urllib.error.HTTPError, match="405"):
            urllib.request.urlopen(urllib.request.Request(address + path, data=b"x"), timeout=30)


def test_a_client_that_comes_back_hears_what_it_has_not_and_one_of_another_server_all(
    address: str, directory: Path
):
    seen, kind, document = next(events(address))
    assert kind == "all"
    assert document["curves"]["reward"]["whole"]
    _, kind, document = next(events(address, seen))
    assert (kind, document["curves"], document["hints"]["newest"]) == ("more", {}, [])
    publish(url(directory), a_step(3, 1e9 + 3, reward=0.75))
    kind, document = next((k, d) for _, k, d in events(address, seen) if "reward" in d["curves"])
    assert (kind, [p[1] for p in document["curves"]["reward"]["points"]]) == ("more", [0.75])
    for foreign in ("cafe-3", "nonsense", seen.split("-")[0] + "-x"):
        assert next(events(address, foreign))[1] == "all"


def test_a_client_that_takes_nothing_holds_up_nobody(address: str, directory: Path):
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port)) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        deaf.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        publish(url(directory), *a_lesson(7))
        heard = (d["hints"]["newest"] for _, _, d in events(address))
        assert any(hint["hint"] == "Count on from 7." for newest in heard for hint in newest)


def test_more_clients_than_are_served_are_told_to_come_back(address: str):
    place = urlsplit(address)
    held = [socket.create_connection((place.hostname, place.port)) for _ in range(70)]
    try:
        for one in held:
            one.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        statuses = [one.recv(12) for one in held]
    finally:
        for one in held:
            one.close()
    assert statuses.count(b"HTTP/1.1 503") >= 6
    assert statuses.count(b"HTTP/1.1 200") >= 60


def test_with_a_token_only_who_shows_it_gets_in(directory: Path):
    secret = "s3cr3t"
    env = os.environ | {"MENTOR_STREAM_MONITOR_TOKEN": secret}
    with serving(str(directory / "run.toml"), env=env) as address:
        assert Answer(address, "state").status == 401
        assert Answer(address, "?token=wrong").status == 401
        assert Answer(address, "state", Authorization="Bearer wrong").status == 401
        assert Answer(address, "state", Authorization=f"Bearer {secret}").status == 200
        welcome = Answer(address, f"?token={secret}")
        assert (welcome.status, welcome.headers["location"]) == (303, "/")
        cookie = welcome.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert Answer(address, "state", Cookie=cookie.split(";")[0]).status == 200
        assert Answer(address, "healthz").status == 200


def test_a_port_that_is_taken_is_said(directory: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = mentor_stream("monitor", str(directory / "run.toml"), "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "Name another --host or --port" in done.stderr


def test_who_opens_it_to_the_network_is_told_what_that_means(directory: Path):
    with socket.create_server(("0.0.0.0", 0)) as taken:  # so that it ends
        options = ("--host", "0.0.0.0", "--port", str(taken.getsockname()[1]))
        done = mentor_stream("monitor", str(directory / "run.toml"), *options)
    assert "whoever gets here sees every question, hint and answer" in done.stderr


def test_nobodys_place_is_moved_and_nothing_written(address: str, directory: Path):
    async def main() -> None:
        async with stream.connect(url(directory), "run", "looker") as run:
            assert await run.lag(topics.COLLAPSED) >= 1
            assert all(kept.next == 0 for kept in (await run.bounds(topics.DEAD_LETTERS)).values())

    anyio.run(main, backend="trio")


@needs_nodes
def test_a_broker_that_dies_is_told_and_read_on_when_it_is_back(tmp_path: Path):
    with Cluster(tmp_path / "kafka") as node:
        publish(node.url, *a_lesson(1), a_step(0, 1e9))
        config = write_config(tmp_path, name="run", broker=node.url)
        with serving(config) as address:
            told = events(address, caught_up=True)
            first = next(told)[2]
            assert [hint["hint"] for hint in first["hints"]["newest"]] == ["Count on from 1."]
            key = first["hints"]["newest"][0]["question_key"]
            assert len(Answer(address, f"question?key={key}").json()["history"]) == 4
            assert len(Answer(address, "hints?search=count").json()["hints"]) == 1
            node.kill(1)
            assert any(document["status"]["broker"]["away"] for _, _, document in told)
            node.start(1)
            publish(node.url, *a_lesson(2), a_step(1, 1e9 + 1))
            hints, rewards, back = list[str](), 0, False
            for _, _, document in told:
                hints += [hint["hint"] for hint in document["hints"]["newest"] if hint["score"]]
                rewards += len(document["curves"].get("reward", {"points": []})["points"])
                back = back or not document["status"]["broker"]["away"]
                if hints and rewards and back:
                    break
            assert set(hints) == {"Count on from 2."}
            assert rewards == 1

"""Snapshots in a real object store over HTTP: put whole, removed in order, patient and bounded."""

import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream import snapshots
from mentor_stream.snapshots import StoreError, attempts, store, url
from mentor_stream.snapshots.directory import Snapshot
from mentor_stream.snapshots.store import Store, deadline, name_of, superseded
from tests.storage import Gate, Storage


def a_snapshot(directory: Path, version: int = 1, size: int = 1000) -> Snapshot:
    def fill(draft: Path) -> None:
        (draft / "config.json").write_text(f'{{"version": {version}}}')
        (draft / "model.safetensors").write_bytes(os.urandom(size))

    return snapshots.write(directory, version, fill)


def put(storage: Storage, snapshot: Snapshot, version: int = 1, seconds: float = 30) -> str:
    name = name_of(version, snapshot.digest)
    Store(storage.url, deadline(seconds)).put(snapshot.path, name, snapshot.digest)
    return name


def test_what_was_put_is_there_with_its_manifest_and_is_listed_as_whole(
    storage: Storage, tmp_path: Path
) -> None:
    name = put(storage, a_snapshot(tmp_path))
    assert storage.keys() == [
        f"{name}/{file}" for file in ("config.json", "manifest.json", "model.safetensors")
    ]
    assert Store(storage.url, deadline(10)).contents() == {name: True}


def test_a_snapshot_that_is_there_is_not_sent_again(storage: Storage, gate: Gate, tmp_path: Path) -> None:
    snapshot = a_snapshot(tmp_path, size=300_000)
    put(storage, snapshot)
    before = gate.passed
    put(storage, snapshot)
    assert gate.passed - before < 100_000


def test_what_is_removed_is_gone_and_nothing_else(storage: Storage, tmp_path: Path) -> None:
    first, second = (put(storage, a_snapshot(tmp_path, version), version) for version in (1, 2))
    Store(storage.url, deadline(10)).remove(first)
    assert Store(storage.url, deadline(10)).contents() == {second: True}
    Store(storage.url, deadline(10)).remove(first)
    assert len(storage.keys()) == 3


def test_a_place_without_anything_has_no_contents(storage: Storage) -> None:
    assert Store(storage.url + "/nothing", deadline(10)).contents() == {}


PUT = """
import sys
from pathlib import Path
from mentor_stream.snapshots.store import Store, deadline
url, path, name, digest = sys.argv[1:]
Store(url, deadline(60)).put(Path(path), name, digest)
"""


def test_an_upload_that_is_killed_leaves_nothing_that_looks_whole_and_the_next_one_finishes_it(
    storage: Storage, gate: Gate, tmp_path: Path
) -> None:
    snapshot = a_snapshot(tmp_path, size=2_000_000)
    name = name_of(1, snapshot.digest)
    gate.limit = 1_000_000
    process = subprocess.Popen(
        [sys.executable, "-c", PUT, storage.url, str(snapshot.path), name, snapshot.digest]
    )
    assert gate.closed.wait(60)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    gate.let()
    assert Store(storage.url, deadline(10)).contents() == {name: False}
    put(storage, snapshot)
    assert Store(storage.url, deadline(10)).contents() == {name: True}


def test_a_store_that_is_cut_off_for_a_while_is_waited_for(
    storage: Storage, gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.go_away()
    monkeypatch.setattr(attempts, "PAUSES", (0.1,))
    monkeypatch.setattr(attempts.log, "warning", lambda *_: gate.let())  # it was tried, and failed
    snapshot, tries = a_snapshot(tmp_path), list[str]()
    store = Store(storage.url, deadline(60), again=lambda: tries.append("again"))
    store.put(snapshot.path, name := name_of(1, snapshot.digest), snapshot.digest)
    assert Store(storage.url, deadline(10)).contents() == {name: True}
    assert tries, "it is told of every try but the first"


def test_a_store_that_says_nothing_is_given_up_in_time(storage: Storage, gate: Gate, tmp_path: Path) -> None:
    snapshot = a_snapshot(tmp_path)
    gate.hold()
    began = time.monotonic()
    with pytest.raises(StoreError, match=r"s3://bucket/.*no answer in time"):
        put(storage, snapshot, seconds=1)
    assert time.monotonic() - began < 10
    gate.let()


def test_a_probe_of_a_place_that_does_says_nothing_and_leaves_nothing(storage: Storage) -> None:
    assert store.probe(storage.url) is None
    assert storage.keys() == []


def test_a_probe_names_a_bucket_that_is_not_there(storage: Storage) -> None:
    said = store.probe("s3://no-such-bucket/run") or ""
    assert said.startswith("run.snapshots is 's3://no-such-bucket/run': ")
    assert "bucket does not exist" in said
    assert "Make the bucket" in said
    assert not storage.files.exists("no-such-bucket")


def test_a_probe_names_a_store_that_does_not_answer(
    storage: Storage, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.hold()
    monkeypatch.setattr(store, "PROBE_SECONDS", 0.5)
    assert "no answer within 0.5 s" in (store.probe(storage.url) or "")
    gate.let()


class Denial(BaseHTTPRequestHandler):
    """A store that denies everything, in S3's words."""

    def do_PUT(self) -> None:
        body = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        self.send_response(403)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_a_probe_that_is_denied_says_which_rights_are_needed_and_no_key(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Denial) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        said = store.probe(storage.url) or ""
        server.shutdown()
    assert "run.snapshots is 's3://" in said
    assert "Access Denied. Give it keys that may write, read, list and delete there." in said
    assert "secret-of-the-store" not in said


def test_a_package_that_is_not_there_is_named() -> None:
    assert "gcsfs" in (store.problem("gs://bucket/run") or "")
    assert "fsspec knows no carrier-pigeon://" in (store.problem("carrier-pigeon://bucket") or "")
    assert store.problem("s3://bucket/run") is None


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("s3://key:secret@bucket/run", "environment"),
        ("s3://secret@bucket", "environment"),
        ("s3://bucket/run?secret=1", "without a query"),
        ("simplecache::s3://bucket/secret", "a second scheme"),
        ("S3://bucket", "expected scheme"),
        ("s3://bucket/a b", "a space"),
        ("s3://", "no bucket"),
        ("", "give a directory"),
    ],
)
def test_a_url_that_cannot_be_is_refused_and_what_may_be_secret_is_not_shown(setting: str, said: str) -> None:
    (problem,) = url.problems(setting)
    assert "run.snapshots is '" in problem
    assert said in problem
    assert "key:" not in problem
    assert "secret@" not in problem
    assert "secret=" not in problem


@pytest.mark.parametrize("setting", ["s3://bucket", "gs://bucket/a/b", "/shared/disk", "relative/path"])
def test_a_url_or_a_path_that_may_be_is_let_through(setting: str) -> None:
    assert list(url.problems(setting)) == []


@pytest.mark.parametrize("uri", ["/runs/a b/v1", "file:///runs/a b/v1", "local:///runs/a b/v1"])
def test_a_uri_is_a_path_with_or_without_its_scheme(uri: str) -> None:
    assert snapshots.local(uri) == Path("/runs/a b/v1")
    assert snapshots.local("s3://runs/v1") is None


names = st.builds(
    lambda version, digest: name_of(version, f"{digest:064x}"), st.integers(0, 30), st.integers(0, 3)
)


@given(st.dictionaries(names, st.booleans(), max_size=12), names, st.integers(1, 5))
def test_of_a_store_the_newest_up_to_the_current_one_stay_and_they_are_whole(
    contents: dict[str, bool], current: str, keep: int
) -> None:
    contents = contents | {current: True}
    removed = superseded(contents, current, keep)
    kept = contents.keys() - set(removed)
    assert current in kept
    assert len(kept) <= keep
    assert all(contents[name] and name[:9] < current[:9] for name in kept - {current})
    could = [name for name, whole in contents.items() if whole and name[:9] < current[:9]]
    assert len(kept) == min(keep, len(could) + 1), "no more is removed than must be"
    assert all(max(kept - {current}) >= name or name in kept for name in could if kept - {current})

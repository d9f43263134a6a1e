"""The file: what it may be, where it may lie, and what is said when it fails."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import BrokerError, BrokerUnavailable, TopicPartition, TopicSpec
from mentor_stream.broker.sqlite import check
from mentor_stream.broker.sqlite.location import Location, parse
from mentor_stream.broker.sqlite.schema import APPLICATION, VERSION
from mentor_stream.broker.sqlite.watch import POLL_SECONDS

pytestmark = pytest.mark.anyio


async def open_and_close(path: Path) -> None:
    async with brokers.connect(f"sqlite:///{path}"):
        pass


def test_a_url_says_file_durability_lease_patience_and_compression():
    assert parse("sqlite:///runs/x/stream.db") == Location(Path("runs/x/stream.db"))
    assert parse(
        "sqlite:////var/a%20b.db?synchronous=normal&lease=2.5&timeout=3&compression=gzip"
    ) == Location(Path("/var/a b.db"), "normal", 2.5, 3.0, "gzip")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("sqlite://stream.db", "expected sqlite:///relative.db"),
        ("sqlite:///", "expected sqlite:///relative.db"),
        ("sqlite:///x.db?synchronous=off", "synchronous=off; use full or normal"),
        ("sqlite:///x.db?lease=0", "lease=0; expected seconds"),
        ("sqlite:///x.db?lease=nan", "lease=nan; expected seconds"),
        ("sqlite:///x.db?timeout=soon", "timeout=soon; expected seconds"),
        ("sqlite:///x.db?speed=9", "no option 'speed'; known: synchronous, lease, timeout, compression"),
        ("sqlite:///x.db?compression=zip", "compression=zip; use none or gzip or lz4"),
    ],
)
def test_a_url_that_cannot_be_names_the_part_and_the_way_out(url, problem):
    with pytest.raises(BrokerError, match=r"run\.broker is") as error:
        brokers.connect(url)
    assert problem in str(error.value)


def test_lz4_that_is_not_installed_is_missed_before_anything_is_opened(monkeypatch):
    monkeypatch.setitem(sys.modules, "lz4", None)
    with pytest.raises(
        BrokerError, match="compression=lz4 needs the package lz4: pip install lz4, or use gzip"
    ):
        brokers.check("sqlite:///x.db?compression=lz4")


async def test_the_file_and_its_directory_are_created(tmp_path):
    await open_and_close(tmp_path / "runs" / "x" / "stream.db")
    assert (tmp_path / "runs" / "x" / "stream.db").exists()


async def test_many_may_create_the_file_at_once(tmp_path):
    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(open_and_close, tmp_path / "stream.db")


async def test_a_text_file_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes " * 1000)
    with pytest.raises(BrokerError, match=r"notes\.txt is damaged or no stream"):
        await open_and_close(path)
    assert path.read_text() == "my notes " * 1000


async def test_a_database_of_something_else_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(BrokerError, match=r"other\.db is a database of something else"):
        await open_and_close(path)
    assert path.read_bytes() == before


async def test_a_damaged_stream_says_so(tmp_path):
    path = tmp_path / "stream.db"
    async with brokers.connect(f"sqlite:///{path}") as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec("topic")])
        for _ in range(20):
            await producer.send("topic", b"key", bytes(20_000))
    with path.open("r+b") as file:
        file.seek(16_384)
        file.write(b"\xa5" * (path.stat().st_size - 16_384))
    with pytest.raises(BrokerError, match=r"stream\.db is damaged"):
        async with brokers.connect(f"sqlite:///{path}") as broker:
            await broker.bounds("topic")


async def test_a_directory_in_place_of_the_file_says_so(tmp_path):
    with pytest.raises(BrokerError, match="cannot be opened for writing"):
        await open_and_close(tmp_path)


async def test_a_writer_that_never_ends_makes_the_broker_unavailable_for_as_long_as_it_lasts(tmp_path):
    path = tmp_path / "stream.db"
    async with brokers.connect(f"sqlite:///{path}?timeout=0.2") as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec("topic")])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(BrokerUnavailable, match="has held its write lock for"):
                await producer.send("topic", b"key", b"lost")
        receipt = await producer.send("topic", b"key", b"value")
    assert receipt.offset == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> list[str]:
    """What to put before a command, so that `tmp_path` is a file system of 8 MB of its own to it."""
    mount = f"mount -t tmpfs -o size=8m tmpfs {tmp_path}"
    begin = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*begin, mount], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small file system: Linux with user namespaces")
    return [*begin, f'{mount} && "$@"', "sh"]


def test_a_full_disk_refuses_the_send_loses_nothing_and_goes_on_when_there_is_room(small_disk, tmp_path):
    command = [sys.executable, "-m", "tests.broker.sqlite.full_disk", str(tmp_path)]
    run = subprocess.run([*small_disk, *command], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert len(result["refusals"]) == 4
    assert all("the disk is full. Make room" in refusal for refusal in result["refusals"])
    assert 0 < result["full"] < len(result["acknowledged"]) - 5
    assert result["kept"] == result["acknowledged"] == list(range(len(result["kept"])))


async def test_what_is_no_offset_is_refused(tmp_path):
    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker:
        await broker.create_topics([TopicSpec("topic")])
        with pytest.raises(BrokerError, match="topic, partition 0: -7 is no offset"):
            async with broker.reader({TopicPartition("topic", 0): -7}):
                pass


async def test_no_plain_message_comes_while_a_preferred_one_is_in_the_file(tmp_path):
    async with brokers.connect(f"sqlite:///{tmp_path}/stream.db") as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec("plain", 2), TopicSpec("urgent", 2)])
        for topic in ("plain", "urgent"):
            for number in range(20):
                await producer.send(topic, b"%d" % number, b"value")
        topics = []
        async with broker.consumer(["urgent", "plain"], group="group", prefetch=8) as consumer:
            async for message in consumer:
                topics.append(message.topic)
                consumer.done(message)
                if len(topics) == 40:
                    break
    assert topics == ["urgent"] * 20 + ["plain"] * 20


async def test_messages_survive_closing_and_opening_the_file(tmp_path):
    url = f"sqlite:///{tmp_path}/stream.db"
    async with brokers.connect(url) as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec("topic")])
        await producer.send("topic", b"key", b"value")
    async with brokers.connect(url) as broker, broker.consumer(["topic"], group="group") as consumer:
        assert (await anext(aiter(consumer))).value == b"value"


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_file_that_is_taken_away_under_the_run_ends_it(tmp_path, replaced):
    path = tmp_path / "stream.db"

    async def use() -> None:
        async with brokers.connect(f"sqlite:///{path}"):
            path.rename(tmp_path / "elsewhere")
            if replaced:
                path.touch()
            with anyio.fail_after(10):
                await anyio.sleep_forever()

    with pytest.raises(BrokerError, match="was removed, emptied or replaced while the run was using it"):
        await use()


@pytest.mark.parametrize("hurt", ["stream.db", "stream.db-wal"])
async def test_a_file_that_is_emptied_and_a_log_that_is_removed_end_the_run_amid_sending(tmp_path, hurt):
    acknowledged = 0

    async def use() -> None:
        nonlocal acknowledged
        url = f"sqlite:///{tmp_path}/stream.db"
        async with brokers.connect(url) as broker, broker.producer() as producer:
            await broker.create_topics([TopicSpec("topic")])
            with anyio.fail_after(20):
                while True:
                    await producer.send("topic", b"key", b"value")
                    acknowledged += 1
                    if acknowledged == 20:
                        path = tmp_path / hurt
                        path.unlink() if hurt.endswith("-wal") else os.truncate(path, 0)

    with pytest.raises(BrokerError, match=f"{hurt} was removed, emptied or replaced"):
        await use()
    assert acknowledged < 2_000


async def test_a_log_that_is_written_over_ends_the_run(tmp_path):
    async def use() -> None:
        url = f"sqlite:///{tmp_path}/stream.db"
        async with brokers.connect(url) as broker, broker.producer() as producer:
            await broker.create_topics([TopicSpec("topic")])
            await producer.send("topic", b"key", b"value")
            log = tmp_path / "stream.db-wal"
            with log.open("r+b") as file:
                file.write(bytes(log.stat().st_size))
            with anyio.fail_after(10):
                await anyio.sleep_forever()

    with pytest.raises(BrokerError, match=r"stream\.db-wal was written over by something else"):
        await use()


async def test_a_log_that_begins_anew_is_no_trouble(tmp_path):
    """As it does whenever all of it was moved into the file, which makes it another one or an empty one."""
    path = tmp_path / "stream.db"
    async with brokers.connect(f"sqlite:///{path}") as broker, broker.producer() as producer:
        await broker.create_topics([TopicSpec("topic")])
        with closing(sqlite3.connect(path)) as other:
            for mode in ("RESTART", "TRUNCATE", "RESTART"):
                for _ in range(20):
                    await producer.send("topic", b"key", b"value")
                assert other.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()[0] == 0
                await anyio.sleep(5 * POLL_SECONDS)
        assert (await broker.bounds("topic"))[TopicPartition("topic", 0)].next == 60


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "stream.db")
    with pytest.raises(BrokerError, match=r"run\.broker is .* it is no file"):
        check(f"sqlite:///{tmp_path}/stream.db", copies=1)


async def test_a_stream_without_its_tables_is_said_to_be_no_whole_one(tmp_path):
    path = tmp_path / "stream.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    async with brokers.connect(f"sqlite:///{path}") as broker:
        with pytest.raises(BrokerError, match="is no whole stream"):
            await broker.topics()

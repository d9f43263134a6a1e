"""Messages put back where they stood, and what is left of it when that is cut short."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream.broker import EARLIEST, Bounds, BrokerError, Message, TopicPartition, TopicSpec

pytestmark = pytest.mark.anyio

PLACE = TopicPartition("topic", 1)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/stream.db"


def a_message(offset: int, moment: float, partition: int = 1, value: bytes = b"value") -> Message:
    return Message("elsewhere", partition, offset, b"key", value, moment, (("header", b"\xff"),))


async def put_back(url: str, *messages: Message, end: int) -> None:
    async with brokers.restoring(url) as restoration:
        await restoration.begin(TopicSpec("topic", 2, max_message_bytes=77))
        await restoration.append("topic", messages)
        await restoration.publish({TopicPartition("topic", 0): 9, PLACE: end})


async def test_messages_stand_where_they_stood_and_are_found_by_the_time_they_had(url):
    known = [a_message(5, 100.0), a_message(6, 200.0), a_message(9, 300.0)]  # two are no messages
    await put_back(url, *known, end=11)
    async with brokers.connect(url, create=False) as broker:
        assert (await broker.describe("topic")).spec == TopicSpec("topic", 2, max_message_bytes=77)
        assert await broker.bounds("topic") == {
            TopicPartition("topic", 0): Bounds(9, 9),
            PLACE: Bounds(5, 11),
        }
        async with broker.reader({PLACE: EARLIEST}, follow=False) as reader:
            found = [message async for message in reader]
        assert [(m.offset, m.timestamp, m.value, m.headers) for m in found] == [
            (m.offset, m.timestamp, m.value, m.headers) for m in known
        ]
        times = {0.0: 5, 100.0: 5, 150.0: 6, 250.0: 7, 300.0: 7, 301.0: 10}
        for moment, offset in times.items():
            # any hole before the message will do: reading from there begins with it
            assert (await broker.offsets_at("topic", moment))[PLACE] == offset
        async with broker.producer() as producer:
            receipts = [await producer.send("topic", bytes([n]), b"later") for n in range(8)]
        assert {(r.partition, r.offset) for r in receipts} >= {(0, 9), (1, 11)}


@pytest.mark.parametrize("how", ["removed", "replaced", "folder renamed"])
async def test_a_file_that_is_taken_away_meanwhile_is_said_and_takes_no_more(tmp_path, how):
    """SQLite itself would write on, into a file that nobody finds again."""
    path = tmp_path / "folder" / "stream.db"
    async with brokers.restoring(f"sqlite:///{path}") as restoration:
        await restoration.begin(TopicSpec("topic", 2))
        if how == "folder renamed":
            path.parent.rename(tmp_path / "elsewhere")
        else:
            path.unlink()
        if how == "replaced":
            path.touch()
        with pytest.raises(BrokerError, match="was removed, emptied or replaced"):
            await restoration.publish({TopicPartition("topic", 0): 0, PLACE: 0})
    assert not path.exists() or not path.stat().st_size


async def test_nothing_is_seen_of_it_before_it_is_whole_and_nothing_is_left_of_what_was_given_up(url):
    async with brokers.connect(url) as broker:
        await broker.create_topics([TopicSpec("other")])
        async with brokers.restoring(url) as restoration:
            await restoration.begin(TopicSpec("topic", 2))
            await restoration.append("topic", [a_message(n, 1.0) for n in range(1500)])
            with pytest.raises(BrokerError, match="no topic 'topic'"):
                await broker.bounds("topic")
        assert list(await broker.topics()) == ["other"]
    await put_back(url, a_message(0, 1.0), end=1)


async def test_what_a_killed_process_left_is_taken_away_by_the_next(tmp_path, url):
    code = (
        "import anyio, os, signal\n"
        "from tests.broker.sqlite.test_restoration import *\n"
        "async def main():\n"
        f"    async with brokers.restoring({url!r}) as restoration:\n"
        "        await restoration.begin(TopicSpec('topic', 2))\n"
        "        await restoration.append('topic', [a_message(n, 1.0) for n in range(1500)])\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "anyio.run(main, backend='trio')"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[3])
    assert done.returncode == -signal.SIGKILL
    async with brokers.connect(url, create=False) as broker:
        assert len(await broker.topics()) == 1
        await put_back(url, a_message(3, 1.0), end=4)
        assert list(await broker.topics()) == ["topic"]
        assert (await broker.bounds("topic"))[PLACE] == Bounds(3, 4)


async def test_a_topic_that_is_there_is_not_written_over_nor_one_that_comes_meanwhile(url):
    async with brokers.connect(url) as broker, brokers.restoring(url) as restoration:
        await restoration.begin(TopicSpec("topic", 2))
        await broker.create_topics([TopicSpec("topic", 2)])
        with pytest.raises(BrokerError, match="there is a topic topic already"):
            await restoration.publish({TopicPartition("topic", n): 0 for n in range(2)})
        with pytest.raises(BrokerError, match="there is a topic topic already"):
            await restoration.begin(TopicSpec("topic", 2))


async def test_a_restoration_beside_another_process_s_leaves_that_alone(url):
    async with brokers.restoring(url) as restoration:
        await restoration.begin(TopicSpec("topic", 2))
        code = (
            "import anyio; from tests.broker.sqlite.test_restoration import *\n"
            "async def main():\n"
            f"    async with brokers.restoring({url!r}): pass\n"
            "anyio.run(main, backend='trio')"
        )
        await anyio.run_process([sys.executable, "-c", code], cwd=Path(__file__).parents[3], env=os.environ)
        await restoration.append("topic", [a_message(0, 1.0)])
        await restoration.publish({TopicPartition("topic", 0): 0, PLACE: 1})


@pytest.mark.parametrize("offset", [-1, 2**40])
async def test_what_is_no_offset_would_be_in_another_partition_and_is_refused(url, offset):
    async with brokers.restoring(url) as restoration:
        await restoration.begin(TopicSpec("topic", 2))
        with pytest.raises(BrokerError, match=f"{offset} is no offset"):
            await restoration.append("topic", [a_message(offset, 1.0)])


async def test_a_cluster_gives_offsets_itself_and_is_refused():
    with pytest.raises(BrokerError, match=r"let run\.broker name a file"):
        brokers.restoring("kafka://127.0.0.1:9?a=b")

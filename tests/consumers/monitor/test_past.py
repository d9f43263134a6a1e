"""Reading back: single records, and a search that goes on page by page."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from consumers.following import Event
from consumers.monitor import past
from consumers.monitor.asked import Asked
from consumers.monitor.board import Board
from consumers.monitor.index import Place, question_key
from consumers.monitor.inquiry import Inquiry
from consumers.monitor.watching import Watching
from mentor_stream import broker as brokers
from mentor_stream import component, topics
from mentor_stream.broker import TopicPartition
from schemas import Query
from tests.builders import a_group, a_query, a_trajectory
from tests.consumers.monitor.served import a_lesson, publish
from tests.runs import url, write_config

pytestmark = pytest.mark.anyio


async def everywhere(path: Path, read):
    """What `read` gives of a board that has caught up and a broker."""
    config = component.load_config(Path(write_config(path, name="run")))
    board = Board(config.run)
    await Watching(config.run.broker, board).catch_up()
    async with brokers.connect(url(path), create=False) as broker:
        return await read(board, broker)


def lessons(path: Path, count: int) -> None:
    publish(url(path), *(record for number in range(count) for record in a_lesson(number)))


async def test_pages_of_hints_hold_every_hint_once_the_newest_first(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(past, "BLOCK", 7)
    lessons(tmp_path, 75)

    async def read(board: Board, broker: brokers.Broker):
        pages, before = [], None
        while True:
            page = await Inquiry(board).hints(broker, "", before)
            pages.append([hint["hint"] for hint in page["hints"]])
            before = page["before"]
            if before is None:
                return pages

    pages = await everywhere(tmp_path, read)
    assert [hint for page in pages for hint in page] == [f"Count on from {n}." for n in range(74, -1, -1)]
    assert max(map(len, pages)) <= 31, "about thirty, and those of the same moment"


@pytest.mark.parametrize("text", ["from 17.", "IS 17 +", "What is 17 + 1?"])
async def test_a_search_finds_hints_by_what_they_and_their_questions_say(tmp_path: Path, text: str):
    lessons(tmp_path, 20)
    found = await everywhere(tmp_path, lambda board, broker: Inquiry(board).hints(broker, text, None))
    assert [hint["hint"] for hint in found["hints"]] == ["Count on from 17."]
    assert found["hints"][0]["score"] == {"right": 1, "judged": 4, "answers": 4}
    assert found["before"] is None


async def test_a_search_without_time_says_how_far_it_came_and_goes_on_there(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(past, "BLOCK", 2)
    monkeypatch.setattr("consumers.monitor.inquiry.SEARCH_SECONDS", 0.0)
    lessons(tmp_path, 20)

    async def read(board: Board, broker: brokers.Broker):
        before, asked, found = None, 0, []
        while asked == 0 or before is not None:
            page = await Inquiry(board).hints(broker, "from 3.", before)
            before, asked, found = page["before"], asked + 1, [*found, *page["hints"]]
        return asked, found

    asked, found = await everywhere(tmp_path, read)
    assert asked > 2
    assert len(found) == 1


@pytest.mark.parametrize("further", [False, True])
async def test_a_questions_history_holds_each_attempt_the_case_and_the_hint(tmp_path: Path, further: bool):
    """Out of the index, and by reading back."""
    lessons(tmp_path, 10)
    publish(url(tmp_path), a_lesson(3)[3])  # once more, as after a crash
    key = question_key(a_query("What is 3 + 1?", "4"))

    async def read(board: Board, broker: brokers.Broker):
        return await Inquiry(board).question(broker, key, 3e9 if further else None)

    told = await everywhere(tmp_path, read)
    assert told["question"] == "What is 3 + 1?"
    assert [event["kind"] for event in told["history"]] == ["group", "hint", "diagnosis", "group"]
    assert [event["score"]["right"] for event in told["history"] if event["kind"] == "group"] == [0, 1]
    assert told["before"] is None


async def test_what_the_index_does_not_reach_is_told_and_found_by_reading_back(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("consumers.monitor.watching.LAST", 1)
    lessons(tmp_path, 30)
    key = question_key(a_query("What is 0 + 1?", "1"))

    async def read(board: Board, broker: brokers.Broker):
        ask = Inquiry(board)
        near = await ask.question(broker, key, None)
        return near, await ask.question(broker, key, near["before"])

    near, further = await everywhere(tmp_path, read)
    assert near["history"] == []
    assert near["before"]
    assert {event["kind"] for event in further["history"]} == {"group", "hint", "diagnosis"}


async def test_records_are_read_by_their_places_and_missing_ones_left_out(tmp_path: Path):
    lessons(tmp_path, 30)
    async with brokers.connect(url(tmp_path), create=False) as broker:
        places = [Place("guided", p, o) for p in range(4) for o in (0, 2)] + [Place("guided", 0, 999)]
        events = await past.read(broker, "run", places)
    assert {Place(e.topic.name, e.place.partition, e.offset) for e in events} == set(places[:-1])
    assert all(isinstance(event.record, Query) for event in events)
    assert [event.time for event in events] == sorted(event.time for event in events)
    assert events[0].topic is topics.GUIDED


async def test_any_question_is_found_once_with_its_hint_or_without(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(past, "BLOCK", 3)
    monkeypatch.setattr("consumers.monitor.watching.LAST", 1)
    lessons(tmp_path, 12)
    records = []
    for number in range(20, 60):
        plain = a_query(f"How many are {number} and 1?", f"{number + 1}", position=number)
        answered = a_group("RRWW" if number % 2 else "WWWW", query=plain)
        topic = topics.GROUPS if number % 2 else topics.COLLAPSED
        records += [(topics.QUERIES, plain), *([(topic, answered)] * 2)]
    publish(url(tmp_path), *records, (topics.QUERIES, a_query("How many are there?", "none", position=99)))

    async def read(board: Board, broker: brokers.Broker):
        async def all_of(text: str) -> list[dict]:
            found, before = [], None
            while True:
                page = await Inquiry(board).questions(broker, text, before)
                found, before = found + page["found"], page["before"]
                if before is None:
                    return found

        group = a_group(query=a_query("How many are 31 and 1?", "32", position=31))
        return [await all_of(text) for text in ("HOW MANY are", "What is 7", group.group_id, "nowhere")]

    plain, lesson, by_id, nothing = await everywhere(tmp_path, read)
    assert {one["question"] for one in plain} == {
        "How many are there?", *(f"How many are {n} and 1?" for n in range(20, 60))
    }  # fmt: skip
    assert plain[0]["score"] is None, "the newest was asked and not answered yet"
    assert all(one["hint"] is None for one in plain)
    assert [(one["hint"], one["score"]["right"]) for one in lesson] == [("Count on from 7.", 1)]
    assert [one["score"] for one in by_id] == [{"right": 2, "judged": 4, "answers": 4}] * len(by_id) != []
    assert nothing == []


async def test_what_a_search_holds_of_a_large_record_is_small(tmp_path: Path):
    large = a_query("Why? " + "because " * 100_000, "x" * 100_000)
    group = replace(a_group("W", query=large), trajectories=(a_trajectory(text="y" * 1_000_000),) * 2)
    kept = Asked("why", lambda _: None).kept(
        Event(topics.COLLAPSED, TopicPartition("run.collapsed", 0), 0, 1.0, group)
    )
    assert kept is not None
    assert len(json.dumps(kept)) < 2_000

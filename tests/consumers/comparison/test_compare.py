"""`mentor-stream compare`: two runs' hints for the same failures, in numbers, side by side and as a page."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

import schemas
from consumers.comparison import figures, page, policy
from consumers.comparison.record import Recorded
from mentor_stream import stream, topics
from schemas import AgentCall, Consumed, Diagnosis, Outcome, PolicyRelease, Query, Record
from tests.builders import a_group, a_guided_query, a_query
from tests.runs import as_json, mentor_stream, url, write_config

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m"


def a_lesson(number: int, hint: str) -> Query:
    return a_guided_query(a_query(f"What is {number} + {number}?", position=number), hint)


def a_case(lesson: Query, *, calls: tuple[AgentCall, ...] = (), **fields: Any) -> Diagnosis:
    assert lesson.hint
    known: dict[str, Any] = {
        "group_id": lesson.hint.group_id, "query_id": f"question-{lesson.position}", "guide": "scripted",
        "round": 1, "outcome": Outcome.HINT, "reason": "validated", "hint": lesson.hint,
        "guided_query_id": lesson.query_id, "calls": calls, "policy_version": 0,
    }  # fmt: skip
    return Diagnosis(**(known | fields))


def silent(lesson: Query) -> Diagnosis:
    return a_case(lesson, outcome=Outcome.SILENT, reason="nothing came", hint=None, guided_query_id=None)


def a_call(agent: str, *, passed: bool | None = None, draft: int = 0, refinement: int = 0) -> AgentCall:
    return AgentCall(agent=agent, draft=draft, refinement=refinement, result="", passed=passed)


def a_run(name: str, *records: Record) -> Recorded:
    run = Recorded(name)
    for record in records:
        run.take(record)
    return run


def test_a_run_in_numbers():
    first, second, third = (a_lesson(number, f"hint {number}") for number in range(3))
    calls = (
        a_call("leak_guard", passed=False),
        a_call("repair", refinement=2),
        a_call("generation", draft=1),
    )
    run = a_run(
        "run",
        a_case(first, calls=calls, prompt_tokens=30, completion_tokens=10, cost=0.5, seconds=3.0),
        a_case(second, seconds=1.0),
        silent(third),
        a_group("RWWU", query=first),
        a_group("WWWW", query=second),
    )
    found = figures.figures(run, run.cases.values())
    assert found["outcomes"] == {"hint": 2, "silent": 1}
    assert (found["cases"], found["answered"], found["cost"]) == (3, 2, 0.5)
    for name, wanted in {
        "hint_rate": 2 / 3, "leak_rate": 1 / 3, "refined": 2 / 3, "redrafted": 1 / 3, "tokens": 40 / 3,
        "seconds": 4 / 3, "rescue_rate": 1 / 2, "accuracy": 1 / 6,
    }.items():  # fmt: skip
        assert found[name] == pytest.approx(wanted), name


def test_a_hint_without_a_diagnosis_is_no_case_and_is_counted():
    """Its mentor died between the two, and no other took the case."""
    known, orphan = a_lesson(1, "hint"), a_lesson(2, "left alone")
    run = a_run("run", a_case(known), known, orphan, orphan, a_group("RWWW", query=orphan))
    found = figures.figures(run, run.cases.values())
    assert (found["cases"], found["undiagnosed"], found["answered"]) == (1, 1, 0)
    document = {"runs": [found, found], "questions": []}
    assert "hints without a diagnosis, left out" in page.page(document)
    run.take(a_case(orphan))
    assert figures.figures(run, run.cases.values())["undiagnosed"] == 0


def test_records_that_come_twice_change_nothing():
    lesson = a_lesson(1, "hint")
    records = (a_case(lesson), lesson, a_group("RW", query=lesson))
    once, twice = a_run("run", *records), a_run("run", *records, *records)
    assert figures.figures(once, once.cases.values()) == figures.figures(twice, twice.cases.values())


def test_cases_of_the_same_failures_belong_together_and_others_are_left_out():
    ours, theirs = a_lesson(1, "ours"), a_lesson(1, "theirs")
    first = a_run("first", a_case(ours), ours, a_case(a_lesson(2, "alone")))
    second = a_run("second", a_case(theirs), theirs)
    (pair,) = figures.pairs(first, second)
    assert pair.question == "What is 1 + 1?"
    assert (pair.first.hint, pair.second.hint) == (ours.hint, theirs.hint)


def test_runs_without_a_failure_in_common_are_put_together_by_question_and_round():
    ours, theirs = a_case(a_lesson(1, "ours")), a_case(a_lesson(1, "theirs"), group_id="of another run")
    later = a_case(a_lesson(1, "later"), group_id="a third", round=2)
    (pair,) = figures.pairs(a_run("first", ours), a_run("second", theirs, later))
    assert (pair.first.hint, pair.second.hint) == (ours.hint, theirs.hint)
    assert pair.question == "question-1", "its text is nowhere on the stream"


class Reader(HTMLParser):
    """The tags of a page and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not {"src", "href", "onerror", "onload"} & {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_page_needs_nothing_from_elsewhere_and_what_models_wrote_is_text():
    lesson = a_lesson(1, HOSTILE)
    named = a_run(
        HOSTILE, a_case(replace(lesson, question=HOSTILE), guide=HOSTILE), replace(lesson, question=HOSTILE)
    )
    (pair,) = figures.pairs(named, named)
    numbers = figures.figures(named, named.cases.values())
    one = figures.row(named, named, pair)
    one["sides"][1]["hint"] = f"{HOSTILE} too"
    made = page.page({"runs": [numbers, numbers], "questions": [one]})
    reader = Reader()
    reader.feed(made)
    assert reader.tags.count("script") == 1, "the search"
    assert "img" not in reader.tags
    assert "".join(reader.text).count(HOSTILE) >= 6
    assert not [way for way in ("://", "url(", "@import", "import(", "fetch(") if way in made]
    assert "default-src 'none'" in made, "nor would a browser fetch anything"


def prepared(directory: Path) -> str:
    """Two runs on one broker: one that asked with its hints, and a replay. The first one's config."""

    async def main() -> None:
        for run, hint in (("run", "Count on."), ("again", "Use your fingers.")):
            lesson = a_lesson(1, hint)
            async with stream.connect(url(directory), run, "mentor") as connected:
                await connected.publish(topics.GUIDED, lesson)
                await connected.publish(topics.DIAGNOSES, a_case(lesson))
                async with connected.broker.producer() as producer:
                    await producer.send(connected.name(topics.GROUPS), b"key", b"no record")
                if run == "run":
                    await connected.publish(topics.GROUPS, a_group("RRWW", query=lesson))

    anyio.run(main, backend="trio")
    return write_config(directory, name="run")


def test_two_runs_are_compared_and_neither_is_touched(tmp_path: Path):
    config = prepared(tmp_path)
    document = as_json("compare", config, f"{config}:again", "--html", str(tmp_path / "page.html"))
    assert [run["rescue_rate"] for run in document["runs"]] == [1.0, None]
    (one,) = document["questions"]
    assert [side["hint"] for side in one["sides"]] == ["Count on.", "Use your fingers."]
    assert "Use your fingers." in (tmp_path / "page.html").read_text()
    shown = mentor_stream("compare", config, f"{config}:again").stdout
    assert "run [2 of 4]: Count on." in shown
    assert ["got a hint", "100.0 %", "100.0 %"] in [re.split(" {2,}", row) for row in shown.splitlines()]
    assert not re.search(r"\d\.\d{4,}|e-\d", shown), "no raw figures"
    json.dumps(document, allow_nan=False)

    async def main() -> None:
        async with stream.connect(url(tmp_path), "run", "looker") as run:
            (bounds,) = (await run.bounds(topics.DEAD_LETTERS)).values()
            assert bounds == (0, 0)

    anyio.run(main, backend="trio")


def test_a_page_gets_its_folder_and_what_its_disk_refuses_is_said(tmp_path: Path):
    runs = ("compare", config := prepared(tmp_path), f"{config}:again", "--html")
    assert mentor_stream(*runs, str(tmp_path / "new/page.html")).returncode == 0
    assert (tmp_path / "new/page.html").is_file()
    for place in (tmp_path / "new", tmp_path / "new/page.html/page.html"):
        done = mentor_stream(*runs, str(place))
        assert done.returncode == 2
        assert f"--html is '{place}': it cannot be written (" in done.stderr


def a_release(version: int) -> PolicyRelease:
    return PolicyRelease(
        policy_version=version,
        step=version,
        uri=f"v{version}",
        digest="",
        consumed=Consumed(),
        published_at=0.0,
    )


@pytest.mark.parametrize(
    ("failed", "there", "began", "chosen"),
    [
        (12, [196, 197], True, None),
        (150, [196, 197], True, 196),
        (98, [196], True, None),
        (12, [196, 197], False, 196),
        (5, [4, 6], True, 4),
        (0, [0, 1], True, None),
        (3, [], True, None),
    ],
)
def test_the_policy_next_to_those_that_failed_is_tried(
    failed: int, there: list[int], began: bool, chosen: int | None
):
    found = policy.nearest(failed, [a_release(version) for version in there], began=began)
    assert (found and found.policy_version) == chosen


@pytest.mark.parametrize(("accuracy", "warned"), [(None, False), (0.0, False), (0.79, False), (0.8, True)])
def test_a_policy_that_needs_no_hint_is_said_to_say_nothing(accuracy: float | None, warned: bool):
    said = figures.warning({"none": {"accuracy": accuracy}})
    assert bool(said) == warned
    if said:
        assert "80 % of the answers without a hint are right" in said
        assert "say nothing about the hints" in said


def test_runs_with_nothing_in_common_are_not_compared(tmp_path: Path):
    config = prepared(tmp_path)

    async def main() -> None:
        async with stream.connect(url(tmp_path), "empty", "mentor"):
            pass

    anyio.run(main, backend="trio")
    done = mentor_stream("compare", config, f"{config}:empty")
    assert done.returncode == 2
    assert "run has 1 cases and empty 0, and none in common" in done.stderr


def test_a_run_that_there_is_not_is_said(tmp_path: Path):
    done = mentor_stream("compare", prepared(tmp_path), f"{tmp_path}/run.toml:nowhere")
    assert done.returncode == 2
    assert "nowhere" in done.stderr
    assert schemas.query_id("dataset", 1) not in done.stderr

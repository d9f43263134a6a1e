"""`mentor-stream tail` on a real stream: it shows what goes by, and nobody notices."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import anyio
import pytest

from mentor_stream import stream, topics
from mentor_stream.broker import TopicPartition
from schemas import Diagnosis, Outcome, Query
from tests.builders import a_group, a_guided_query, a_query, a_record_of_each_kind
from tests.cluster import Cluster, needs_nodes
from tests.runs import mentor_stream, url, write_config

QUERY = a_guided_query(a_query("What is 2 + 3?"), hint="Count on.")


def prepared(directory: Path) -> str:
    """A run with a lesson, its group, a plain collapsed group and a record nobody can read; its config."""

    async def main() -> None:
        async with stream.connect(url(directory), "run", "rollout") as run:
            await run.publish(topics.COLLAPSED, a_group("WWWW"))
            await run.publish(topics.GUIDED, QUERY)
            await run.publish(topics.DIAGNOSES, a_record_of_each_kind()["diagnosis"])
            await run.publish(topics.GROUPS, a_group("RWWW", query=QUERY))
            async with run.broker.producer() as producer:
                await producer.send(run.name(topics.GROUPS), b"key", b"no record")

    anyio.run(main, backend="trio")
    return write_config(directory, name="run")


def without_a_diagnosis(directory: Path) -> str:
    """A run whose mentor died between a hint and its diagnosis; its config."""

    async def main() -> None:
        async with stream.connect(url(directory), "run", "rollout") as run:
            await run.publish(topics.COLLAPSED, a_group("WWWW"))
            await run.publish(topics.GUIDED, QUERY)
            await run.publish(topics.GROUPS, a_group("RWWW", query=QUERY))

    anyio.run(main, backend="trio")
    return write_config(directory, name="run")


def test_where_nothing_is_shown_that_is_said_and_what_could_not_be_read(tmp_path: Path):
    config = prepared(tmp_path)

    async def main() -> None:
        async with stream.connect(url(tmp_path), "junk", "rollout") as run, run.broker.producer() as producer:
            for topic in (topics.GUIDED, topics.DIAGNOSES):
                await producer.send(run.name(topic), b"key", b"no record")

    anyio.run(main, backend="trio")
    for arguments, said in {
        ("hints", config, "--since", "2099-01-01"): "run run has no such hints",
        ("collapsed", config, "--question", "nowhere"): "run run has no such records on collapsed",
        ("dead-letters", config): "run run has no records on dead-letters",
        ("hints", f"{config}:junk"): "run junk has no hints; 2 records could not be read",
    }.items():
        done = mentor_stream("tail", *arguments, "--no-follow")
        assert (done.returncode, said in done.stderr) == (0, True), done
    assert mentor_stream("tail", "groups", config, "--no-follow").stderr == ""


def test_the_last_hints_come_with_their_diagnoses_wherever_these_stand(tmp_path: Path):
    """A partition of hints and one of diagnoses do not hold the same cases."""

    async def main() -> None:
        async with stream.connect(url(tmp_path), "run", "mentor") as run:
            for number in range(40):
                lesson = a_guided_query(
                    a_query(f"What is {number} + 1?", position=number), hint=f"hint {number}"
                )
                await run.publish(topics.GUIDED, lesson)
                await run.publish(topics.DIAGNOSES, a_diagnosis(lesson))
                for other in range(3):  # cases without a hint have diagnoses too
                    await run.publish(topics.DIAGNOSES, a_silent_case(f"{number}-{other}"))

    anyio.run(main, backend="trio")
    config = write_config(tmp_path, name="run")
    for count in (1, 3):
        done = mentor_stream("tail", "hints", config, "--last", str(count), "--no-follow")
        assert done.stdout.count("lesson 1 by") == 4 * count
        assert "no diagnosis" not in done.stdout
    assert mentor_stream("tail", "hints", config, "--last", "0", "--no-follow").stdout == ""


def a_diagnosis(lesson: Query) -> Diagnosis:
    assert lesson.hint
    return Diagnosis(
        group_id=lesson.hint.group_id, query_id="plain", guide="scripted", round=1, outcome=Outcome.HINT,
        reason="passed", hint=lesson.hint, guided_query_id=lesson.query_id, policy_version=0,
    )  # fmt: skip


def a_silent_case(group_id: str) -> Diagnosis:
    return Diagnosis(
        group_id=group_id, query_id="plain", guide="scripted", round=1, outcome=Outcome.SILENT,
        reason="nothing came", policy_version=0,
    )  # fmt: skip


def test_of_a_hint_without_a_diagnosis_it_is_said_that_none_was_found(tmp_path: Path):
    config = without_a_diagnosis(tmp_path)
    done = mentor_stream("tail", "hints", config, "--no-follow")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["question", "went", "hint"]
    assert "no diagnosis of this hint was found" in lines[2]
    assert "1 of 4 right" in lines[5]
    lesson, _ = map(
        json.loads, mentor_stream("tail", "hints", config, "--no-follow", "--json").stdout.splitlines()
    )
    assert lesson["diagnosis"] is None


@contextmanager
def _following(what: str, config: str) -> Iterator[IO[str]]:
    """The lines of a tail in a process of its own, as they come; a silent one is killed after a minute."""
    command = [sys.executable, "-m", "mentor_stream.cli", "tail", what, config, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        limit = threading.Timer(60, process.kill)
        limit.start()
        try:
            assert process.stdout
            yield process.stdout
        finally:
            limit.cancel()
            process.send_signal(signal.SIGINT)
            process.wait(20)


def test_ctrl_c_ends_it_without_a_word(tmp_path: Path):
    command = [sys.executable, "-m", "mentor_stream.cli", "tail", "groups", prepared(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in process.stderr.read()
        assert process.wait(30) in (1, 130)


def test_another_run_on_the_broker_is_named_behind_a_colon(tmp_path: Path):
    prepared(tmp_path)
    config = write_config(tmp_path, name="other")
    shown = mentor_stream("tail", "hints", f"{config}:run", "--no-follow")
    assert "Count on." in shown.stdout
    unknown = mentor_stream("tail", "hints", f"{config}:nobody", "--no-follow")
    assert unknown.returncode == 2
    assert "nobody." in unknown.stderr


def test_with_a_filter_everything_is_searched(tmp_path: Path):
    config = prepared(tmp_path)
    arguments = ("tail", "groups", config, "--no-follow", "--json")
    assert mentor_stream(*arguments, "--last", "0").stdout == ""
    found = mentor_stream(*arguments, "--question", "2 + 3").stdout.splitlines()
    assert any(json.loads(line)["record"] for line in found)


def test_the_hints_are_shown_with_what_came_of_them(tmp_path: Path):
    config = prepared(tmp_path)
    shown = mentor_stream("tail", "hints", config, "--no-follow").stdout
    assert shown.index("Count on.") < shown.index("with its hint 1 of 4 right")
    assert "\x1b" not in shown
    first, second = map(
        json.loads, mentor_stream("tail", "hints", config, "--no-follow", "--json").stdout.splitlines()
    )
    assert (first["event"], first["query"]["hint"]["text"], second["right"]) == ("hint", "Count on.", 1)
    assert mentor_stream("tail", "hints", config, "--no-follow", "--guide", "other").stdout == ""


def test_a_record_nobody_can_read_is_shown_and_stays_what_it_is(tmp_path: Path):
    config = prepared(tmp_path)
    shown = mentor_stream("tail", "groups", config, "--no-follow").stdout
    assert "1 of 4 right" in shown
    assert "cannot be read: ForeignRecord" in shown

    async def main() -> None:
        async with stream.connect(url(tmp_path), "run", "looker") as run:
            assert await run.bounds(topics.DEAD_LETTERS) == {TopicPartition("run.dead-letters", 0): (0, 0)}
            assert await run.lag(topics.COLLAPSED) == 1, "no group's place was moved"

    anyio.run(main, backend="trio")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["policies", "--verdict", "right"], "--verdict is for groups, collapsed"),
        (["hints", "--outcome", "hint"], "--outcome is for diagnoses"),
        (["groups", "--since", "yesterday"], "--since yesterday: expected 90s"),
        (["diagnoses", "--outcome", "slient"], "'slient' is not one of"),
    ],
)
def test_what_makes_no_sense_is_said(tmp_path: Path, arguments: list[str], problem: str):
    what, *options = arguments
    done = mentor_stream("tail", what, prepared(tmp_path), *options)
    assert done.returncode == 2
    assert problem in " ".join(done.stderr.split())


def test_a_run_that_there_is_not_is_said_and_not_made(tmp_path: Path):
    done = mentor_stream("tail", "hints", write_config(tmp_path, name="run"))
    assert done.returncode == 2
    assert not list(tmp_path.glob("*.db"))


def test_what_comes_later_is_shown_when_it_comes(tmp_path: Path):
    config = prepared(tmp_path)
    with _following("groups", config) as shown:
        assert json.loads(shown.readline())["unreadable"] is None

        async def main() -> None:
            async with stream.connect(url(tmp_path), "run", "rollout") as run:
                await run.publish(topics.GROUPS, a_group("RRRW", query=a_query("Later?", position=7)))

        anyio.run(main, backend="trio")
        lines = [json.loads(shown.readline()) for _ in range(2)]
    assert lines[0]["unreadable"]
    assert lines[1]["record"]["query"]["question"] == "Later?"


@needs_nodes
def test_a_broker_that_dies_and_comes_back_is_read_on(tmp_path: Path):
    with Cluster(tmp_path / "kafka") as node:

        async def send(*questions: str) -> None:
            async with stream.connect(node.url, "run", "rollout") as run:
                for place, question in enumerate(questions):
                    await run.publish(topics.GROUPS, a_group(query=a_query(question, position=place)))

        anyio.run(send, "Before?", backend="trio")
        config = write_config(tmp_path, name="run", broker=node.url)
        with _following("groups", config) as shown:
            assert json.loads(shown.readline())["record"]["query"]["question"] == "Before?"
            node.kill(1)
            node.start(1)
            anyio.run(send, "After?", backend="trio")
            assert json.loads(shown.readline())["record"]["query"]["question"] == "After?"

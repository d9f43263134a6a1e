"""`mentor-stream replay`: recorded failures taught again, by a model behind a real HTTP endpoint."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from mentor_stream import broker as brokers
from mentor_stream import stream, topics
from mentor_stream.stream import Stream
from schemas import Diagnosis, Query
from tests.builders import a_group, a_guided_query, a_query
from tests.endpoint import Endpoint, hint, verdict
from tests.runs import as_json, mentor_stream, url, write_config
from tests.streams import everything

CASES = 12


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture
def recorded(tmp_path: Path, endpoint: Endpoint) -> str:
    """A run with collapsed groups, one of them twice, one a lesson's, and a record nobody can read."""

    async def main() -> None:
        async with stream.connect(url(tmp_path), "run", "rollout") as run:
            for number in range(CASES):
                await run.publish(topics.COLLAPSED, a_case(number))
            await run.publish(topics.COLLAPSED, a_case(0))
            await run.publish(topics.COLLAPSED, a_group("WW", query=a_guided_query()))
            async with run.broker.producer() as producer:
                await producer.send(run.name(topics.COLLAPSED), b"key", b"no record")

    anyio.run(main, backend="trio")
    return config_of(tmp_path, endpoint)


def a_case(number: int) -> Any:
    return a_group("WWWW", query=a_query(f"What is {number} + {number}?", f"{2 * number}", position=number))


def config_of(directory: Path, endpoint: Endpoint, name: str = "run", **agents: Any) -> str:
    path = Path(write_config(directory, name=name))
    options = "".join(f", {key} = {value!r}" for key, value in agents.items())
    llm = f'{{ kind = "llm", base_url = "{endpoint.url}", model = "m", first_pause_seconds = 0.01{options} }}'
    path.write_text(
        f'{path.read_text()}\n[mentor]\nleak_guard = "text"\nconcurrency = 4\n'
        f'[mentor.guide]\nkind = "fdcg"\nagents = {llm}\n'
    )
    return str(path)


def of(directory: Path, run: str) -> tuple[list[Query], list[Diagnosis], tuple[Any, ...]]:
    """The lessons and diagnoses of a run, and how much stands on its topics."""

    async def main() -> Any:
        async with stream.connect(url(directory), run, "looker") as found:
            sizes = [await found.bounds(topic) for topic in topics.ALL]
            return await read(found), sizes

    async def read(found: Stream) -> Any:
        return await everything(found, topics.GUIDED), await everything(found, topics.DIAGNOSES)

    (lessons, diagnoses), sizes = anyio.run(main, backend="trio")
    return lessons, diagnoses, tuple(sizes)


def on_broker(directory: Path) -> list[str]:
    async def main() -> list[str]:
        async with brokers.connect(url(directory)) as broker:
            return list(await broker.topics())

    return anyio.run(main, backend="trio")


def test_every_recorded_case_is_taught_once_and_the_run_stays_as_it_was(
    tmp_path: Path, recorded: str, endpoint: Endpoint
):
    before = of(tmp_path, "run")
    document = as_json("replay", "--from", recorded, "--to", "again")
    assert document["outcomes"] == {"exhausted": 1, "hint": CASES}
    assert (document["unreadable"], document["repeated"], document["replies"]) == (1, 1, None)
    lessons, diagnoses, _ = of(tmp_path, "again")
    assert {query.question for query in lessons} == {f"What is {n} + {n}?" for n in range(CASES)}
    assert {d.group_id for d in diagnoses} == {a_case(n).group_id for n in range(CASES)} | {
        a_group(query=a_guided_query()).group_id
    }
    assert of(tmp_path, "run") == before


def test_with_kept_replies_a_second_replay_says_the_same_byte_for_byte_and_asks_nobody(
    tmp_path: Path, recorded: str, endpoint: Endpoint
):
    """Drafts too, of which each case needs two, though they are asked for with the same words."""
    endpoint.answers["generation"] = [hint(f"Hint number {n}.") for n in range(100)]
    endpoint.answers["judgment"] = [verdict("vague", "Say more."), *[verdict("pass")] * 3] * 20
    cache = str(tmp_path / "replies")
    first = as_json("replay", "--from", recorded, "--to", "first", "--cache", cache)
    asked = len(endpoint.requests)
    assert first["replies"] == {"kept": 0, "asked": asked}
    second = as_json("replay", "--from", recorded, "--to", "second", "--cache", cache)
    assert len(endpoint.requests) == asked
    assert second["replies"] == {"kept": asked, "asked": 0}
    assert second["digest"] == first["digest"]
    assert of(tmp_path, "first")[:2] == of(tmp_path, "second")[:2]
    assert first["completion_tokens"] == second["completion_tokens"] > 0
    without = as_json("replay", "--from", recorded, "--to", "third")
    assert without["digest"] != first["digest"]


def test_a_folder_that_takes_no_more_replies_ends_the_replay_in_a_line(
    tmp_path: Path, recorded: str, endpoint: Endpoint
):
    """Not as so many failures of the guide."""
    cache = tmp_path / "replies"
    cache.mkdir()
    for number in range(256):
        (cache / f"{number:02x}").write_text("where a folder is wanted")
    done = mentor_stream("replay", "--from", recorded, "--to", "full", "--cache", str(cache))
    assert done.returncode == 2
    (said,) = set(done.stderr.splitlines())
    assert said == (
        f"mentor-stream: --cache is '{cache}': it cannot be written (Not a directory). Name a place elsewhere"
    )
    assert of(tmp_path, "full")[1] == []


def test_what_is_asked_otherwise_is_asked_anew(tmp_path: Path, recorded: str, endpoint: Endpoint):
    cache = str(tmp_path / "replies")
    as_json("replay", "--from", recorded, "--to", "first", "--cache", cache)
    hotter = config_of(tmp_path, endpoint, "hotter", temperature=0.9)
    other = as_json("replay", "--from", recorded, "--guide", hotter, "--to", "other", "--cache", cache)
    assert other["replies"]["kept"] == 0
    assert other["replies"]["asked"] > 0


def test_a_replay_that_was_killed_goes_on_and_comes_to_the_same(
    tmp_path: Path, recorded: str, endpoint: Endpoint
):
    cache = str(tmp_path / "replies")
    whole = as_json("replay", "--from", recorded, "--to", "whole", "--cache", cache)
    command = ["replay", "--from", recorded, "--to", "killed"]
    killed = [sys.executable, "-m", "mentor_stream.cli", *command, "--concurrency", "2"]
    endpoint.latency = 0.3
    with subprocess.Popen(killed) as process:
        known = len(endpoint.requests)
        while len(endpoint.requests) < known + 12:
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    endpoint.latency = 0.0
    done = as_json(*command)
    assert done["outcomes"] == whole["outcomes"]
    _, diagnoses, _ = of(tmp_path, "killed")
    assert 0 < len(diagnoses) < 2 * CASES


def test_a_range_is_a_part_of_the_cases(tmp_path: Path, recorded: str):
    assert (
        as_json("replay", "--from", recorded, "--to", "later", "--since", "2020-01-01")["cases"] == CASES + 1
    )
    parts = [
        as_json("replay", "--from", recorded, "--to", f"p{n}", "--offsets", f"{n}:0-1") for n in range(4)
    ]
    assert 0 < sum(part["cases"] for part in parts) <= 8
    assert all(part["cases"] <= 2 for part in parts)


@pytest.mark.parametrize(
    "options",
    [
        ["--until", "2020-01-01"],
        ["--since", "2099-01-01"],
        ["--offsets", "0:900-"],
        ["--offsets", "1:5000-6000,2:99-"],
    ],
)
def test_a_range_without_a_case_is_said_with_what_there_is(
    tmp_path: Path, recorded: str, endpoint: Endpoint, options: list[str]
):
    command = ["replay", "--from", recorded, "--to", "never", *options]
    done = mentor_stream(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(
        r"no recorded case matches --(since and --until|offsets \S+): "
        rf"run.collapsed has {CASES + 3} records, "
        r"from 20\S+T\S+ to 20\S+, at --offsets 0:0-\d",
        done.stderr,
    )
    document = as_json(*command, code=2)
    assert (document["matched"], document["recorded"]["records"]) == (0, CASES + 3)
    assert 0 < document["recorded"]["first_time"] <= document["recorded"]["last_time"]
    whole = as_json("replay", "--from", recorded, "--to", "all", "--offsets", document["recorded"]["offsets"])
    assert (whole["cases"], whole["matched"]) == (CASES + 1, CASES + 3)
    assert not [name for name in on_broker(tmp_path) if name.startswith("never.")]


def test_a_run_without_failures_and_a_replay_have_nothing_to_replay(tmp_path: Path, recorded: str):
    as_json("replay", "--from", recorded, "--to", "again", "--offsets", "0:0-0")
    done = mentor_stream("replay", "--from", f"{recorded}:again", "--to", "never")
    assert done.returncode == 2
    assert "nothing to replay: again.collapsed is empty" in done.stderr


def test_cases_that_cannot_be_read_are_no_empty_result(tmp_path: Path, recorded: str):
    async def main() -> None:
        async with stream.connect(url(tmp_path), "junk", "rollout") as run, run.broker.producer() as producer:
            await producer.send(run.name(topics.COLLAPSED), b"key", b"no record")

    anyio.run(main, backend="trio")
    command = ["replay", "--from", f"{recorded}:junk", "--to", "again"]
    done = mentor_stream(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no recorded case can be read, of 1 records" in done.stderr
    assert as_json(*command, code=2)["unreadable"] == 1


def test_another_run_on_the_broker_can_be_replayed(tmp_path: Path, recorded: str):
    async def main() -> None:
        async with stream.connect(url(tmp_path), "other", "rollout") as run:
            await run.publish(topics.COLLAPSED, a_case(1))

    anyio.run(main, backend="trio")
    found = as_json("replay", "--from", f"{recorded}:other", "--to", "again")
    assert (found["cases"], found["run"]) == (1, "again")
    for name in ("run", "other"):
        done = mentor_stream("replay", "--from", f"{recorded}:other", "--to", name)
        assert (done.returncode, f"--to is '{name}': that is the recorded run itself" in done.stderr) == (
            2,
            True,
        )


def test_no_lessons_go_to_another_run_where_they_would_be_sampled(tmp_path: Path, recorded: str):
    async def main() -> None:
        async with stream.connect(url(tmp_path), "live", "feeder") as run:
            await run.publish(topics.QUERIES, a_query())

    anyio.run(main, backend="trio")
    done = mentor_stream("replay", "--from", recorded, "--to", "live")
    assert done.returncode == 2
    assert "--to is 'live': that is a run of its own, which has queries" in done.stderr
    assert of(tmp_path, "live")[:2] == ([], [])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--to", "x", "--offsets", "0:3-1"], "--offsets is '0:3-1': 0:3-1 ends before it begins"),
        (["--to", "x", "--offsets", "0:0-1,0:2-3"], "--offsets is '0:0-1,0:2-3': partition 0 is there twice"),
        (["--to", "x", "--offsets", "0:" + "9" * 5000 + "-"], "expected PARTITION:FIRST-LAST"),
        (["--to", "run"], "--to is 'run': that is the recorded run itself"),
        (["--to", "x", "--offsets", "all"], "--offsets is 'all': expected PARTITION:FIRST-LAST"),
        (["--to", "x", "--offsets", "77:0-"], "--offsets is '77:0-': run.collapsed has 4 partitions"),
        (["--to", "x", "--offsets", "0:0-", "--since", "2h"], "--offsets is for one range"),
        (["--to", "no such name!"], "--to is 'no such name!'"),
    ],
)
def test_what_cannot_be_replayed_is_said(recorded: str, options: list[str], problem: str):
    done = mentor_stream("replay", "--from", recorded, *options)
    assert done.returncode == 2
    assert problem in " ".join(done.stderr.split())


def test_a_guide_s_file_needs_no_more_than_mentor(tmp_path: Path, recorded: str):
    guide = tmp_path / "guide.toml"
    section = '[mentor]\nleak_guard = "text"\nguide = { kind = "static", general = ["Count on."] }\n'
    guide.write_text(section + "[run]\nname = 'looked at by nobody'\n")
    done = as_json("replay", "--from", recorded, "--guide", str(guide), "--to", "general")
    assert (done["guide"], done["outcomes"]["fallback"]) == ("static", CASES)
    guide.write_text(section.replace("leak_guard", "leak_gard"))
    said = mentor_stream("replay", "--from", recorded, "--guide", str(guide), "--to", "other")
    assert said.returncode == 2
    assert f"{guide}: mentor.leak_gard: no such setting" in said.stderr


def test_a_guide_that_teaches_nothing_cannot_be_replayed(tmp_path: Path, recorded: str):
    nothing = write_config(tmp_path, name="nothing")
    done = mentor_stream("replay", "--from", recorded, "--guide", nothing, "--to", "x")
    assert done.returncode == 2
    assert "mentor.guide.kind is 'none': it teaches nothing to replay" in done.stderr

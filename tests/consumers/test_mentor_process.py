"""The mentor as a process on the SQLite broker, with a scripted endpoint: killed, stopped, in trouble."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from mentor_stream import topics
from mentor_stream.broker import Receipt
from mentor_stream.config import ConfigError, load
from mentor_stream.stream import Stream, connect
from schemas import Group, Outcome, Query
from tests.builders import a_group, a_query
from tests.endpoint import Endpoint, Trouble, hint
from tests.streams import everything, until
from trainer.intake.batches import Arrivals, CutRule

pytestmark = pytest.mark.anyio

CONFIG = """
[run]
name = "test"
directory = "{directory}"
broker = "sqlite:///{directory}/stream.db?lease=1"
policy = "{directory}"

[mentor]
concurrency = 8
leak_guard = "{guard}"
guide = {{ kind = "fdcg", agents = {{ {agents} }} }}
"""
AGENTS = 'kind = "llm", model = "m", base_url = "{url}", first_pause_seconds = 0.05, attempts = 2'
START = (
    "import sys; from pathlib import Path; from mentor_stream.config import load;"
    "from consumers.mentor import component; component.run(load(Path(sys.argv[1]), component.sections))"
)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(latency=0.1) as server:
        yield server


@pytest.fixture
async def stream(tmp_path: Path) -> AsyncIterator[Stream]:
    async with connect(f"sqlite:///{tmp_path}/stream.db?lease=1", "test", "test") as stream:
        yield stream


def a_config(tmp_path: Path, *, agents: str, guard: str = "text") -> Path:
    path = tmp_path / "run.toml"
    path.write_text(CONFIG.format(directory=tmp_path, guard=guard, agents=agents))
    return path


@contextmanager
def mentor(config: Path) -> Generator[subprocess.Popen[str]]:
    """A mentor process; killed at the end if it still runs."""
    process = subprocess.Popen([sys.executable, "-c", START, str(config)], stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def publish_cases(stream: Stream, count: int) -> list[Group]:
    groups = [
        a_group("WWWW", query=a_query(f"What is 2 + {n + 3}?", str(n + 5), position=n)) for n in range(count)
    ]
    for group in groups:
        await stream.publish(topics.COLLAPSED, group)
    return groups


async def all_dealt_with(stream: Stream, seconds: float = 60) -> None:
    with anyio.fail_after(seconds):
        while await stream.lag(topics.COLLAPSED):
            await anyio.sleep(0.05)


async def test_a_mentor_killed_among_its_cases_loses_none_and_repeats_lessons_under_their_ids(
    stream: Stream, endpoint: Endpoint, tmp_path: Path
) -> None:
    groups = await publish_cases(stream, 40)
    config = a_config(tmp_path, agents=AGENTS.format(url=endpoint.url))
    for done in (4, 16):
        with mentor(config) as killed:
            await until(stream, topics.GUIDED, done, seconds=60)
            os.kill(killed.pid, signal.SIGKILL)
    with mentor(config):
        await all_dealt_with(stream)
    guided = await everything(stream, topics.GUIDED)
    diagnoses = await everything(stream, topics.DIAGNOSES)
    assert len({q.query_id for q in guided}) == 40
    assert {d.group_id for d in diagnoses} == {g.group_id for g in groups}
    assert {d.guided_query_id for d in diagnoses} == {q.query_id for q in guided}
    assert endpoint.most_in_flight == 8


async def test_a_hint_written_again_after_kill_9_never_reaches_training(
    stream: Stream, endpoint: Endpoint, tmp_path: Path
) -> None:
    # words, not numbers: no hint may have anything to do with an answer
    endpoint.answers["generation"] = [
        hint(f"Look at {a} before {b}.") for a, b in permutations("abcdefghijklmnop", 2)
    ]
    await publish_cases(stream, 24)
    config = a_config(tmp_path, agents=AGENTS.format(url=endpoint.url))
    guided: list[Query] = []
    while len(guided) == len({q.query_id for q in guided}):
        published = len(guided)
        assert published < 24, "no lesson was published twice"
        with mentor(config) as killed:
            await until(stream, topics.GUIDED, published + 1, seconds=60)
            os.kill(killed.pid, signal.SIGKILL)
        guided = await everything(stream, topics.GUIDED)
    with mentor(config):
        await all_dealt_with(stream)
    guided = await everything(stream, topics.GUIDED)
    said: dict[str, list[str]] = {}
    for query in guided:
        assert query.hint
        said.setdefault(query.query_id, []).append(query.hint.text)
    assert any(len(set(texts)) > 1 for texts in said.values()), "no second hint differed from the first"
    arrivals = Arrivals(CutRule(batch_groups=99, max_staleness=4, max_guided_fraction=1, keep_silent=False))
    sampled = [a_group("WR", query=query) for query in guided]
    trained = [
        group.query
        for offset, group in enumerate(sampled)
        if arrivals.arrive(group, Receipt("groups", 0, offset), collapsed=False)
    ]
    assert {q.query_id: q.hint.text for q in trained if q.hint} == {i: texts[0] for i, texts in said.items()}
    assert len(trained) == len(said) == 24


async def test_a_mentor_that_is_asked_to_stop_stops_at_once_and_its_cases_come_again(
    stream: Stream, endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.answers["judgment"] = [Trouble.SLOW]
    groups = await publish_cases(stream, 12)
    config = a_config(tmp_path, agents=AGENTS.format(url=endpoint.url))
    with mentor(config) as stopped:
        with anyio.fail_after(60):
            while len(endpoint.asked("judgment")) < 8:
                await anyio.sleep(0.05)
        stopped.terminate()
        assert await anyio.to_thread.run_sync(lambda: stopped.wait(10)) == 128 + signal.SIGTERM
    endpoint.answers["judgment"] = ['{"verdict": "pass"}']
    with mentor(config):
        await all_dealt_with(stream)
    assert {d.group_id for d in await everything(stream, topics.DIAGNOSES)} == {g.group_id for g in groups}


async def test_a_dead_endpoint_costs_hints_and_never_a_case(stream: Stream, tmp_path: Path) -> None:
    with Endpoint() as gone:
        pass
    await publish_cases(stream, 10)
    with mentor(a_config(tmp_path, agents=AGENTS.format(url=gone.url))) as process:
        diagnoses = await until(stream, topics.DIAGNOSES, 10, seconds=60)
        await all_dealt_with(stream)
        assert process.poll() is None
    assert {d.outcome for d in diagnoses} == {Outcome.FALLBACK}
    assert all("cannot be reached" in d.reason and d.calls[0].error for d in diagnoses)


async def test_trouble_of_the_endpoint_is_said_in_the_log_once_a_cause(
    stream: Stream, endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.answers["attribution"] = [Trouble.UNAUTHORIZED]
    await publish_cases(stream, 12)
    with mentor(a_config(tmp_path, agents=AGENTS.format(url=endpoint.url))) as process:
        await until(stream, topics.DIAGNOSES, 12, seconds=60)
        process.terminate()
        assert process.stderr
        said = await anyio.to_thread.run_sync(process.stderr.read)
    assert said.count("status 401") == 1
    assert "a case ended without the guide's hint: fallback: attribution failed: " in said
    assert "sk-secret" not in said


async def test_an_endpoint_that_obeys_an_injected_instruction_gets_no_answer_through(
    stream: Stream, endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.answers |= {
        "generation": [
            hint("As I was told to: the answer is 5."),
            hint("It is half of 10."),
            hint("4+1, ok?"),
        ],
        "repair": [hint("The answer is five."), hint(r"$\frac{10}{2}$"), hint("2 + 3 = 5"), hint("10 / 2")],
    }
    await publish_cases(stream, 1)
    with mentor(a_config(tmp_path, agents=AGENTS.format(url=endpoint.url), guard="math")):
        (diagnosis,) = await until(stream, topics.DIAGNOSES, 1, seconds=90)
    assert diagnosis.outcome is Outcome.FALLBACK
    assert "gives the answer away" in diagnosis.reason
    assert len(endpoint.asked("judgment")) == 9


@pytest.mark.parametrize("kind", ["none", "filter"])
async def test_a_guide_that_teaches_nothing_leaves_the_cases_alone_and_ends_well(
    stream: Stream, tmp_path: Path, kind: str
) -> None:
    await publish_cases(stream, 3)
    config = a_config(tmp_path, agents="")
    config.write_text(config.read_text().partition("[mentor]")[0] + f'[mentor.guide]\nkind = "{kind}"\n')
    with mentor(config) as process:
        assert await anyio.to_thread.run_sync(lambda: process.wait(60)) == 0
        assert process.stderr is not None
        assert "teaches nothing" in process.stderr.read()
    assert await stream.lag(topics.COLLAPSED) == 3


def problems(config: Path) -> list[str]:
    from consumers.mentor import component

    return list(component.check(load(config, component.sections)))


def test_a_setting_that_cannot_work_is_named_by_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_KEY", raising=False)
    agents = AGENTS.format(url="http://127.0.0.1:1/v1")
    assert problems(a_config(tmp_path, agents=agents)) == []
    assert "NO_KEY" in problems(a_config(tmp_path, agents=f'{agents}, api_key_env = "NO_KEY"'))[0]
    assert "cannot be read" in problems(a_config(tmp_path, agents=f'{agents}, prompts = "{tmp_path}/no"'))[0]
    assert "mentor.guide.agents.base_url is missing" in problems(a_config(tmp_path, agents='kind = "llm"'))[0]
    assert "known: llm" in problems(a_config(tmp_path, agents='kind = "lm"'))[0]


def test_an_unknown_guide_is_named_with_those_there_are(tmp_path: Path) -> None:
    config = a_config(tmp_path, agents="")
    config.write_text(config.read_text().replace('"fdcg"', '"fdgc"'))
    assert "known: critique, fdcg, filter, none, static;" in problems(config)[0]


def test_an_impossible_ablation_is_named(tmp_path: Path) -> None:
    config = a_config(tmp_path, agents="")
    config.write_text(config.read_text().replace("agents = {  }", "attribution = false, generation = false"))
    assert "cannot both be off" in problems(config)[0]


@pytest.mark.parametrize("fallback", ["  ", r"Count\u0000."])
def test_a_fallback_that_is_no_text_is_named(tmp_path: Path, fallback: str) -> None:
    config = a_config(tmp_path, agents=AGENTS.format(url="http://127.0.0.1:1/v1"))
    config.write_text(config.read_text().replace('"fdcg", ', f'"fdcg", fallback = "{fallback}", '))
    assert problems(config)[0].startswith("mentor.guide.fallback is ")


@pytest.mark.parametrize("setting", ["concurrency", "max_backlog"])
def test_more_cases_at_once_than_a_broker_can_count_are_refused(tmp_path: Path, setting: str) -> None:
    config = a_config(tmp_path, agents=AGENTS.format(url="http://127.0.0.1:1/v1"))
    lines = config.read_text().replace("concurrency = 8\n", "")
    config.write_text(lines.replace("[mentor]\n", f"[mentor]\n{setting} = {10**18}\n"))
    with pytest.raises(ConfigError, match=rf"mentor\.{setting}\S* is {10**18}: "):
        problems(config)

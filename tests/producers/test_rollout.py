import shutil
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

import schemas
from mentor_stream import topics
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import RolloutConfig
from mentor_stream.stream import Stream, connect
from mentor_stream.supervisor.config import SupervisorConfig
from mentor_stream.topics import TopicsConfig, TopicSettings
from producers.examiner import Examiner
from producers.rollout import RolloutWorker, check
from producers.tokenizer import PolicyTokenizer
from schemas import Verdict
from tests.builders import a_guided_query, a_query
from tests.producers.scripted import (
    SIX,
    ScriptedEngine,
    ScriptedJudge,
    a_config,
    arrived,
    eventually,
    group_ids,
    release,
)
from tests.streams import everything

pytestmark = pytest.mark.anyio


class Rollout:
    """A rollout worker with a scripted engine and judge on a real stream."""

    def __init__(self, stream: Stream, directory: Path, policy: Path, **settings: Any) -> None:
        section = RolloutConfig(**({"group_size": 2, "max_new_tokens": 8, "batch_queries": 2} | settings))
        self.config = a_config(directory, policy, section, PromptConfig(max_prompt_tokens=12))
        self.stream, self.engine, self.judge = stream, ScriptedEngine(), ScriptedJudge()
        tokenizer = PolicyTokenizer(policy, PromptConfig())
        examiner = Examiner(self.engine, self.judge, tokenizer)  # type: ignore[arg-type]
        self.worker: Any = RolloutWorker(self.config, stream, examiner)

    @asynccontextmanager
    async def working(self) -> AsyncGenerator[None]:
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.worker.work)
                yield
                tasks.cancel_scope.cancel()


@pytest.fixture
async def stream(tmp_path: Path) -> AsyncIterator[Stream]:
    async with connect(f"sqlite:///{tmp_path}/stream.db?lease=2", "test", "rollout") as stream:
        yield stream


async def ask(stream: Stream, *references: str) -> list[schemas.Query]:
    queries = [a_query("2 + 4 ?", reference, position=n) for n, reference in enumerate(references)]
    for query in queries:
        await stream.publish(topics.QUERIES, query)
    return queries


async def test_groups_that_were_judged_wrong_throughout_go_to_collapsed_and_others_to_groups(
    stream: Stream, tmp_path: Path, tiny_policy: Path
) -> None:
    rollout = Rollout(stream, tmp_path, tiny_policy)
    right, wrong, unscorable = await ask(stream, "6", "7", "unscorable")
    await release(stream, tmp_path, 0)
    async with rollout.working():
        groups = await arrived(stream, topics.GROUPS, 2)
        (collapsed,) = await arrived(stream, topics.COLLAPSED, 1)
    assert {g.query.query_id for g in groups} == {right.query_id, unscorable.query_id}
    assert collapsed.query == wrong
    assert collapsed.group_id == schemas.group_id("test", wrong.query_id, wrong.attempt)
    assert collapsed.trajectories[0].completion_ids.numpy().tolist() == [SIX, 2]
    assert [t.text for t in collapsed.trajectories] == ["6", "6"]


async def test_guided_queries_are_sampled_before_plain_ones_and_keep_their_bare_prompt(
    stream: Stream, tmp_path: Path, tiny_policy: Path
) -> None:
    rollout = Rollout(stream, tmp_path, tiny_policy, batch_queries=1)
    plain = await ask(stream, "6", "6", "6")
    guided = a_guided_query(plain[0], hint="no 4")
    await stream.publish(topics.GUIDED, guided)
    await release(stream, tmp_path, 0)
    async with rollout.working():
        groups = await arrived(stream, topics.GROUPS, 4)
    (group,) = [g for g in groups if g.query == guided]
    hinted = group.trajectories[0].prompt_ids.numpy().tolist()
    assert rollout.engine.calls[0][1] == [hinted]
    assert group.bare_prompt_ids is not None
    assert group.bare_prompt_ids.numpy().tolist() == rollout.engine.calls[1][1][0]


async def test_nothing_is_sampled_before_the_first_release_and_then_with_the_newest(
    stream: Stream, tmp_path: Path, tiny_policy: Path
) -> None:
    rollout = Rollout(stream, tmp_path, tiny_policy)
    await ask(stream, "6")
    async with rollout.working():
        await anyio.wait_all_tasks_blocked()
        assert rollout.engine.calls == []
        await release(stream, tmp_path, 0)
        await arrived(stream, topics.GROUPS, 1)
        await release(stream, tmp_path, 1)
        await eventually(lambda: rollout.worker._policy._newest.policy_version == 1)
        await ask(stream, "6", "6")
        await arrived(stream, topics.GROUPS, 3)
    assert rollout.engine.calls[0][0] == 0
    assert rollout.engine.calls[-1][0] == 1


async def test_a_snapshot_that_vanished_or_was_damaged_is_left_out(
    stream: Stream, tmp_path: Path, tiny_policy: Path
) -> None:
    rollout = Rollout(stream, tmp_path, tiny_policy)
    gone = await release(stream, tmp_path, 0)
    shutil.rmtree(gone.uri)
    async with rollout.working():
        await eventually(lambda: rollout.worker._policy._tried == (0, gone.digest))
        assert rollout.engine.version is None
        await release(stream, tmp_path, 1)
        await eventually(lambda: rollout.engine.version == 1)
        damaged = await release(stream, tmp_path, 2)
        (Path(damaged.uri) / "note.txt").write_text("something else")
        await eventually(lambda: rollout.worker._policy._newest == damaged)
        await ask(stream, "6")
        (group,) = await arrived(stream, topics.GROUPS, 1)
    assert group.oldest_version == 1


async def test_a_trainer_that_fell_back_to_a_lower_version_is_followed(
    stream: Stream, tmp_path: Path, tiny_policy: Path
) -> None:
    rollout = Rollout(stream, tmp_path, tiny_policy)
    await release(stream, tmp_path, 7)
    async with rollout.working():
        await eventually(lambda: rollout.engine.version == 7)
        await release(stream, tmp_path, 5)
        await eventually(lambda: rollout.worker._policy._newest.policy_version == 5)
        await ask(stream, "6")
        (group,) = await arrived(stream, topics.GROUPS, 1)
    assert group.oldest_version == 5


async def test_a_query_too_long_to_sample_is_resolved_without_sampling_and_the_log_says_why(
    stream: Stream, tmp_path: Path, tiny_policy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rollout = Rollout(stream, tmp_path, tiny_policy)
    await stream.publish(topics.QUERIES, a_query("2 + " * 20 + "?"))
    await release(stream, tmp_path, 0)
    async with rollout.working():
        (group,) = await arrived(stream, topics.GROUPS, 1)
        metrics = await arrived(stream, topics.METRICS, 1)
    assert {t.verdict for t in group.trajectories} == {Verdict.ABORTED}
    assert "max_prompt_tokens" in group.trajectories[0].remark
    assert rollout.engine.calls in ([], [(0, [])])
    assert metrics[-1].values["refused"] == 1
    assert f"query {group.query.query_id} is not sampled: the prompt has" in caplog.text


async def test_a_worker_that_is_stopped_tells_what_it_did_since_its_last_report(
    stream: Stream, tmp_path: Path, tiny_policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("producers.rollout.REPORT_SECONDS", 1000)
    rollout = Rollout(stream, tmp_path, tiny_policy)
    await ask(stream, "6", "7", "6")
    await release(stream, tmp_path, 4)
    async with rollout.working():
        await eventually(lambda: rollout.worker.tally.groups == 3)
    (metric,) = await everything(stream, topics.METRICS)
    assert (metric.policy_version, metric.values["groups"], metric.values["collapsed"]) == (4, 3, 1)
    assert metric.values["tokens_per_second"] == metric.values["in_flight"] == 0, "it is at rest"


async def test_sampling_runs_ahead_of_a_slow_judge_but_no_further_than_its_bound(
    stream: Stream, tmp_path: Path, tiny_policy: Path
) -> None:
    rollout = Rollout(stream, tmp_path, tiny_policy, batch_queries=1)
    rollout.judge.gate = anyio.Event()
    await ask(stream, *["6"] * 6)
    await release(stream, tmp_path, 0)
    async with rollout.working():
        worker = rollout.worker
        # no further batch is begun, and none that was is yet to be sampled
        await eventually(lambda: worker._slots.statistics().tasks_waiting == 1 and worker._lanes.value == 1)
        assert len(rollout.engine.calls) == 3
        assert await everything(stream, topics.GROUPS) == []
        rollout.judge.gate.set()
        await arrived(stream, topics.GROUPS, 6)
    assert len(rollout.engine.calls) == 6


async def test_a_worker_that_is_stopped_leaves_unpublished_queries_to_the_next_one(
    stream: Stream, tmp_path: Path, tiny_policy: Path
) -> None:
    queries = await ask(stream, *["6"] * 4)
    await release(stream, tmp_path, 0)
    stopped = Rollout(stream, tmp_path, tiny_policy)
    stopped.judge.gate = anyio.Event()
    async with stopped.working():
        await eventually(lambda: len(stopped.engine.calls) == 2)
    assert await everything(stream, topics.GROUPS) == []
    async with Rollout(stream, tmp_path, tiny_policy).working():
        groups = await arrived(stream, topics.GROUPS, 4)
        with anyio.fail_after(10):
            while await stream.lag(topics.QUERIES):
                await anyio.sleep(0.02)
    assert group_ids(groups) == {schemas.group_id("test", q.query_id, q.attempt) for q in queries}


async def test_check_names_what_cannot_work_together(tmp_path: Path, tiny_policy: Path) -> None:
    fits = a_config(tmp_path, tiny_policy, RolloutConfig(max_new_tokens=32))
    assert list(check(fits)) == []
    too_long = a_config(tmp_path, tiny_policy, RolloutConfig(max_new_tokens=64))
    assert "rollout.max_new_tokens is 64" in next(iter(check(too_long)))
    no_engine = a_config(tmp_path, tiny_policy, RolloutConfig(engine={"kind": "transformer"}))
    assert "rollout.engine.kind is 'transformer'" in next(iter(check(no_engine)))
    no_policy = a_config(tmp_path, tmp_path / "nowhere", RolloutConfig())
    assert "run.policy" in next(iter(check(no_policy)))


async def test_check_wants_one_worker_where_servers_serve_one(tmp_path: Path, tiny_policy: Path) -> None:
    section = RolloutConfig(max_new_tokens=8, engine={"kind": "vllm", "urls": ["http://one:8000"]})
    assert list(check(a_config(tmp_path, tiny_policy, section, SupervisorConfig()))) == []
    (problem,) = check(a_config(tmp_path, tiny_policy, section, SupervisorConfig(rollout_workers=2)))
    assert "supervisor.rollout_workers is 2, but rollout.engine.kind is 'vllm'" in problem


async def test_check_wants_to_know_where_weights_are_sent_from(tmp_path: Path, tiny_policy: Path) -> None:
    engine = {"kind": "vllm", "urls": ["http://one:8000"], "weights": "gloo"}
    section = RolloutConfig(max_new_tokens=8, engine=engine)
    (problem,) = check(a_config(tmp_path, tiny_policy, section))
    assert problem.startswith("rollout.engine.weights is 'gloo', and run.weights_from is left out")
    assert "host:port" in problem
    assert list(check(a_config(tmp_path, tiny_policy, section, weights_from="trainer:29600"))) == []
    files = RolloutConfig(max_new_tokens=8, engine=engine | {"weights": "snapshot"})
    assert list(check(a_config(tmp_path, tiny_policy, files))) == []


async def test_check_names_topics_that_full_groups_do_not_fit(tmp_path: Path, tiny_policy: Path) -> None:
    rollout = RolloutConfig(group_size=300, max_new_tokens=32)
    small = TopicSettings(max_record_bytes=2**16)
    narrow = a_config(tmp_path, tiny_policy, rollout, TopicsConfig(collapsed=small, queries=small))
    (problem,) = check(narrow)
    for words in (
        "topics.collapsed.max_record_bytes is 65536",
        "take 76800 bytes",
        "lower rollout.group_size",
    ):
        assert words in problem
    assert list(check(a_config(tmp_path, tiny_policy, rollout))) == []


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("tokenizer.json", "{}"),
        ("tokenizer.json", "{"),
        ("tokenizer_config.json", "{"),
        ("config.json", "[]"),
    ],
)
async def test_check_names_a_policy_whose_files_are_damaged(
    tmp_path: Path, tiny_policy: Path, file: str, content: str
) -> None:
    policy = Path(shutil.copytree(tiny_policy, tmp_path / "policy"))
    (policy / file).write_text(content)
    (problem,) = check(a_config(tmp_path, policy, RolloutConfig()))
    assert problem.startswith(f"run.policy is {str(policy)!r}: ")

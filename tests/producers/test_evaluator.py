import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from mentor_stream import telemetry, topics
from mentor_stream.config import Config, ConfigError
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import RolloutConfig
from mentor_stream.snapshots import SnapshotError
from mentor_stream.stream import Stream, connect
from producers.datasets.base import DataConfig
from producers.datasets.reading import read
from producers.evaluator import EvaluateConfig, Evaluator, check, figures, questions
from producers.examiner import Examiner
from producers.tokenizer import PolicyTokenizer
from schemas import Verdict
from tests.producers.scripted import ScriptedEngine, ScriptedJudge, a_config, arrived, release
from tests.streams import everything

pytestmark = pytest.mark.anyio
W, R, U = Verdict.WRONG, Verdict.RIGHT, Verdict.UNSCORABLE
ROWS = [
    ("2 + 4 ?", "6"),
    ("2 + 5 ?", "7"),
    ("3 + 3 ?", "6"),
    ("1 + 1 ?", "unscorable"),
    ("2 + " * 40 + "2 ?", "6"),
]


@pytest.fixture(autouse=True)
def no_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, what it tells are its figures."""
    monkeypatch.setattr(telemetry, "BEAT_SECONDS", 1e6)


@pytest.fixture
async def stream(tmp_path: Path) -> AsyncIterator[Stream]:
    async with connect(f"sqlite:///{tmp_path}/stream.db?lease=2", "test", "evaluator") as stream:
        yield stream


def configured(directory: Path, policy: Path, **settings: Any) -> Config:
    heldout = directory / "heldout.jsonl"
    heldout.write_text("".join(json.dumps({"question": q, "answer": a}) + "\n" for q, a in ROWS))
    data = DataConfig(train=heldout, heldout=heldout)
    rollout, prompt = RolloutConfig(max_new_tokens=8), PromptConfig(max_prompt_tokens=12)
    return a_config(directory, policy, EvaluateConfig(**settings), data, rollout, prompt)


def evaluator(stream: Stream, config: Config) -> tuple[Evaluator, ScriptedEngine]:
    tokenizer, data = PolicyTokenizer(config.run.policy, PromptConfig()), config.of(DataConfig)
    assert data.heldout is not None
    asked = questions(config, read(data.heldout, data, "data.heldout"), tokenizer)
    engine, judge = ScriptedEngine(), ScriptedJudge()
    examiner = Examiner(engine, judge, tokenizer)  # type: ignore[arg-type]
    return Evaluator(config, stream, examiner, asked), engine


async def test_it_evaluates_the_first_and_the_final_release_and_leaves(
    stream: Stream, tmp_path: Path, tiny_policy: Path
) -> None:
    config = configured(tmp_path, tiny_policy)
    working, _ = evaluator(stream, config)
    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(20):
            tasks.start_soon(working.work)
            gone = await release(stream, tmp_path, 0)
            shutil.rmtree(gone.uri)  # version 0 is run.policy, whatever became of its snapshot
            await arrived(stream, topics.METRICS, 1)
            await release(stream, tmp_path, 1)
            await release(stream, tmp_path, 2, final=True, tokens=1234)
    first, last = await everything(stream, topics.METRICS)
    assert (first.policy_version, last.policy_version) == (0, 2)
    assert last.component == "evaluator"
    values = dict(last.values)
    assert values.pop("evaluation_seconds") > 0
    assert values == {
        "heldout_accuracy": 2 / 3,
        "heldout_questions": 3,
        "heldout_unscorable": 1,
        "generated_tokens": 1234,
    }


async def test_while_there_is_nothing_to_evaluate_it_tells_that_it_is_there(
    stream: Stream, tmp_path: Path, tiny_policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "BEAT_SECONDS", 0.01)
    work, _ = evaluator(stream, configured(tmp_path, tiny_policy))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work.work)
        await arrived(stream, topics.METRICS, 2)
        tasks.cancel_scope.cancel()
    told = (await everything(stream, topics.METRICS))[0]
    assert (told.component, told.policy_version, told.values) == ("evaluator", None, {})


async def test_restarted_it_repeats_nothing_that_was_evaluated(
    stream: Stream, tmp_path: Path, tiny_policy: Path
) -> None:
    config = configured(tmp_path, tiny_policy, every=1)
    for version in range(3):
        await release(stream, tmp_path, version)
    first, _ = evaluator(stream, config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first.work)
        await arrived(stream, topics.METRICS, 2)
        tasks.cancel_scope.cancel()
    await release(stream, tmp_path, 3, final=True)
    second, engine = evaluator(stream, config)
    with anyio.fail_after(20):
        await second.work()
        third, idle = evaluator(stream, config)
        await third.work()
    assert [m.policy_version for m in await everything(stream, topics.METRICS)] == [0, 2, 3]
    assert [version for version, _ in engine.calls] == [3]
    assert idle.calls == []


async def test_a_snapshot_that_is_gone_is_left_out(stream: Stream, tmp_path: Path, tiny_policy: Path) -> None:
    gone = await release(stream, tmp_path, 10)
    shutil.rmtree(gone.uri)
    working, _ = evaluator(stream, configured(tmp_path, tiny_policy))
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(working.work)
            await release(stream, tmp_path, 11, final=True)
    assert [m.policy_version for m in await everything(stream, topics.METRICS)] == [11]


async def test_a_final_snapshot_that_is_gone_is_an_error(
    stream: Stream, tmp_path: Path, tiny_policy: Path
) -> None:
    gone = await release(stream, tmp_path, 11, final=True)
    shutil.rmtree(gone.uri)
    working, _ = evaluator(stream, configured(tmp_path, tiny_policy))
    with anyio.fail_after(20), pytest.raises(ExceptionGroup) as caught:
        await working.work()
    assert caught.group_contains(SnapshotError, match="gone")


async def test_questions_may_be_limited_and_too_long_ones_are_left_out(
    tmp_path: Path, tiny_policy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = configured(tmp_path, tiny_policy)
    tokenizer, data = PolicyTokenizer(tiny_policy, PromptConfig()), config.of(DataConfig)
    dataset = read(data.train, data, "data.heldout")
    assert len(questions(config, dataset, tokenizer)) == 4
    assert "1 of 5 held-out questions are too long" in caplog.text
    assert len(questions(configured(tmp_path, tiny_policy, questions=2), dataset, tokenizer)) == 2
    with pytest.raises(ConfigError, match=r"data\.heldout is .* 64 positions"):
        questions(configured(tmp_path, tiny_policy, max_new_tokens=63), dataset, tokenizer)


async def test_accuracy_is_over_what_could_be_judged_and_absent_when_nothing_could() -> None:
    some = figures([[R, W], [U, R], [U, U]])
    assert some == {"heldout_accuracy": 2 / 3, "heldout_questions": 2, "heldout_unscorable": 3}
    assert "heldout_accuracy" not in figures([[U]])


async def test_several_greedy_samples_are_refused(tmp_path: Path, tiny_policy: Path) -> None:
    assert list(check(configured(tmp_path, tiny_policy))) == []
    (problem,) = check(configured(tmp_path, tiny_policy, samples=4))
    assert "evaluate.samples is 4" in problem
    assert list(check(configured(tmp_path, tiny_policy, samples=4, temperature=0.7))) == []


async def test_servers_of_the_rollout_worker_are_not_the_evaluators_too(
    tmp_path: Path, tiny_policy: Path
) -> None:
    def with_engine(**settings: Any) -> Config:
        config = configured(tmp_path, tiny_policy, **settings)
        servers = RolloutConfig(max_new_tokens=8, engine={"kind": "vllm", "urls": ["http://one:8000"]})
        return Config(path=config.path, sections={**config.sections, "rollout": servers})

    (problem,) = check(with_engine())
    assert "evaluate.engine is left out, and rollout.engine.kind is 'vllm'" in problem
    assert list(check(with_engine(engine={"kind": "transformers"}))) == []
    (unknown,) = check(with_engine(engine={"kind": "transformer"}))
    assert "evaluate.engine.kind is 'transformer'" in unknown
    own = {"kind": "vllm", "urls": ["http://two:8000"]}
    assert list(check(with_engine(engine=own))) == []
    (problem,) = check(with_engine(engine=own | {"weights": "gloo"}))
    assert "evaluate.engine.weights is 'gloo'" in problem
    assert "Set it to 'snapshot'" in problem

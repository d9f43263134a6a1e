"""The benchmarks run and say what they found in one form. What they find is for a machine left alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.rows import Wanted, row
from tests.producers.rewards.verifiers import needs_bubblewrap

ROOT = Path(__file__).parents[1]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment or None, capture_output=True, text=True, timeout=600
    )


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    directory = tmp_path_factory.mktemp("benchmark")
    done = run("benchmarks.broker", "--engine", "sqlite", "--quick", "--json", "--directory", str(directory))
    assert done.returncode == 0, done.stderr
    assert not list(directory.iterdir()), "a benchmark leaves nothing behind"
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_row_of_the_broker_benchmark_has_the_same_form(rows: list[dict[str, object]]) -> None:
    assert rows
    for found in rows:
        assert list(found) == ["name", "value", "unit", "baseline", "ratio"]
        assert isinstance(found["unit"], str)
        numbers = found["value"], found["baseline"], found["ratio"]
        assert all(isinstance(number, float) for number in numbers), found


def test_the_broker_benchmark_has_a_row_for_every_promise(rows: list[dict[str, object]]) -> None:
    names = {found["name"] for found in rows}
    for mode in "full", "normal":
        engine = f"broker.sqlite-{mode}"
        assert {
            f"{engine}.{way}.{size}" for way in ("produce", "consume") for size in ("65kB", "1MB")
        } <= names
        assert {f"{engine}.loop-lag.{size}.p99" for size in ("65kB", "1MB")} <= names
        assert {f"{engine}.memory.2000-records", f"{engine}.memory.growth"} <= names


@pytest.mark.parametrize(
    ("benchmark", "options", "names"),
    [
        (
            "mentor",
            ["--directory", "{directory}"],
            {"mentor.in-flight-8", "mentor.in-flight-16", "mentor.mentors-2", "mentor.memory.growth"},
        ),
        ("answers", [], {"answers.cases.agreement", "answers.later.agreement", "answers.throughput.tables"}),
        pytest.param(
            "sandbox",
            [],
            {"sandbox.run", "code.test", "code.call", "code.judge", "code.agreement", "choice.agreement"},
            marks=needs_bubblewrap,
        ),
        (
            "archive",
            ["--engine", "sqlite", "--directory", "{directory}"],
            {
                f"archive.sqlite.{way}.{what}"
                for way in ("export.parquet", "export.db", "import.parquet")
                for what in ("groups", "memory")
            },
        ),
        ("metrics", [], {"metrics.observe", "metrics.text", "metrics.scraped", "metrics.flooded"}),
        ("snapshots", [], {"snapshots.put", "snapshots.fetch", "snapshots.held"}),
        ("datasets", [], {"datasets.jsonl.rows", "datasets.parquet.memory.large"}),
        (
            "trainer",
            ["--directory", "{directory}"],
            {"trainer.intake.sqlite", "trainer.step.tiny", "trainer.vocabulary.2k-tokens-128k-words"},
        ),
    ],
)
def test_a_little_of_a_benchmark_has_its_rows(
    tmp_path: Path, benchmark: str, options: list[str], names: set[str]
) -> None:
    given = [option.format(directory=tmp_path) for option in options]
    done = run(f"benchmarks.{benchmark}", "--quick", "--json", *given)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert names <= {row["name"] for row in found}
    assert all(list(row) == ["name", "value", "unit", "baseline", "ratio"] for row in found)
    assert not list(tmp_path.iterdir()), "a benchmark leaves nothing behind"


def test_the_broker_benchmark_without_a_kafka_says_how_to_get_one(tmp_path: Path) -> None:
    done = run("benchmarks.broker", "--engine", "kafka", "--quick", "--directory", str(tmp_path), PATH="")
    assert done.returncode == 1
    assert "KAFKA_HOME" in done.stderr
    assert "--kafka" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_leak_benchmark_has_precision_and_recall_over_all_and_of_each_domain() -> None:
    done = run("benchmarks.leak", "--json")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(list(found) == ["name", "value", "unit", "baseline", "ratio"] for found in rows)
    values = {found["name"]: found["value"] for found in rows}
    for part in "all", "math", "code", "later":
        assert 0.9 <= values[f"leak.{part}.precision"] <= 1
        assert 0.8 <= values[f"leak.{part}.recall"] < 1, (
            "hints that are known to be missed stay in the tables"
        )
    assert {"leak.math.hint", "leak.code.hint", "leak.code.200kB"} <= values.keys()


def test_a_promise_is_kept_up_to_its_limit_and_not_beyond() -> None:
    half = row("r", 5, "MB/s", 10)
    assert Wanted("ratio", "at least", 0.5).kept(half)
    assert not Wanted("ratio", "at least", 0.51).kept(half)
    assert Wanted("value", "at most", 5).kept(half)
    assert not Wanted("value", "at most", 4.9).kept(half)

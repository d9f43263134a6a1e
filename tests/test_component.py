"""What `mentor-stream check` says of [run] itself: where the run is kept, and its broker."""

import sqlite3
from pathlib import Path

import pytest

from mentor_stream import broker
from mentor_stream.component import check
from mentor_stream.config import Config, ConfigError, RunConfig, load
from mentor_stream.topics import ALL, TopicsConfig


def verdict(directory: Path, run: dict[str, str], **topics: int) -> list[str]:
    """Problems of a run in `directory`, which has a file `taken` and an empty directory `free`."""
    (directory / "taken").write_text("text that is no database")
    (directory / "free").mkdir()
    usual = {"directory": "{d}/free/new", "broker": "sqlite:///{d}/free/new/stream.db"}
    settings = {key: text.replace("{d}", str(directory)) for key, text in (usual | run).items()}
    section = RunConfig.model_validate({"name": "x", "policy": directory, **settings})
    try:
        sections = {"run": section, "topics": TopicsConfig.model_validate(topics)}
        check(Config(path=directory / "run.toml", sections=sections), which=[])
    except ConfigError as error:
        return str(error).splitlines()
    return []


@pytest.mark.parametrize(
    "run",
    [
        {},
        {"directory": "{d}/free"},
        {"directory": "relative/to/here"},
        {"broker": "sqlite:///{d}/free/stream.db?lease=1"},
        {"broker": "kafka://one:9092,two?send_timeout=3"},
    ],
)
def test_a_run_that_can_start_has_no_problems(tmp_path: Path, run: dict[str, str]) -> None:
    assert verdict(tmp_path, run) == []
    assert list((tmp_path / "free").iterdir()) == []


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"directory": "{d}/taken"}, "it is a file. Name a directory"),
        ({"directory": "{d}/taken/below/it"}, "taken is a file. Name a directory"),
        ({"directory": "{d}/" + "x" * 300}, "File name too long"),
        ({"broker": "redis://x"}, "expected a URL that starts with kafka:// or sqlite://"),
        ({"broker": "base://x"}, "expected a URL that starts with kafka:// or sqlite://"),
        ({"broker": "://x"}, "expected a URL that starts with kafka:// or sqlite://"),
        ({"broker": "stream.db"}, "expected a URL that starts with kafka:// or sqlite://"),
        ({"broker": "sqlite://"}, "expected sqlite:///relative.db"),
        ({"broker": "sqlite:///{d}/free"}, "Is a directory"),
        ({"broker": "sqlite:///{d}/taken"}, "the file is no database"),
        ({"broker": "sqlite:///{d}/taken/stream.db"}, "taken is not a directory"),
        ({"broker": "sqlite:///{d}/a%00b.db"}, "expected sqlite:///relative.db"),
        ({"broker": "sqlite:///x.db?leese=3"}, "no option 'leese'"),
        ({"broker": "kafka://h:abc"}, "names the server 'h:abc': "),
        ({"broker": "kafka://[::1"}, "Invalid IPv6 URL"),
    ],
)
def test_a_run_that_cannot_start_is_one_line_that_names_the_setting(
    tmp_path: Path, run: dict[str, str], words: str
) -> None:
    (problem,) = verdict(tmp_path, run)
    assert problem.startswith(f"run.{next(iter(run))} ")
    assert words in problem


def test_the_database_of_an_earlier_start_is_fine(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "stream.db") as connection:
        connection.execute("CREATE TABLE anything (x)")
    assert verdict(tmp_path, {"broker": "sqlite:///{d}/stream.db"}) == []


def test_copies_of_a_file_are_refused_and_of_a_cluster_are_not(tmp_path: Path) -> None:
    (problem,) = verdict(tmp_path, {}, replication=3)
    assert problem.startswith("topics.replication is 3: a SQLite file is the only copy.")
    (tmp_path / "free").rmdir()
    assert verdict(tmp_path, {"broker": "kafka://one:9092"}, replication=3) == []


def test_a_new_engine_is_a_new_folder_of_the_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "__init__.py").write_text("def check(url, *, copies): raise ValueError('of paper')")
    monkeypatch.setattr(broker, "__path__", [*broker.__path__, str(tmp_path)])
    assert verdict(tmp_path, {"broker": "paper://x"}) == ["run.broker is no URL: of paper."]
    (tmp_path / "free").rmdir()
    (problem,) = verdict(tmp_path, {"broker": "stone://x"})
    assert (
        problem
        == "run.broker is 'stone://x': expected a URL that starts with kafka:// or paper:// or sqlite://."
    )


@pytest.mark.parametrize(
    ("topics", "problem"),
    [
        ("retention_hours = nan", "retention_hours is nan: expected hours from 0.001 to 10000000"),
        ("retention_hours = 1e300", "retention_hours is 1e+300: expected hours"),
        ("retention_hours = 1e-9", "retention_hours is 1e-09: expected hours"),
        ('retention_bytes = "forever"', "retention_bytes is 'forever': expected bytes"),
        ("retention_bytes = 99999999999999999999", "retention_bytes is 99999999999999999999: expected bytes"),
        ("partitions = 501", "partitions is 501: expected 1 to 500: five topics get so many each"),
        ("groups = { partitions = 0 }", "groups.partitions is 0: expected 1 to 500"),
        ("dead_letters = { partitions = 2 }", "dead_letters.partitions is 2: its readers need one"),
        ("policies = { retention_hours = 1.0 }", "policies has a retention"),
    ],
)
def test_topics_that_cannot_be_are_one_line(tmp_path: Path, topics: str, problem: str) -> None:
    path = tmp_path / "run.toml"
    run = f'name = "x"\npolicy = "{tmp_path}"\ndirectory = "{tmp_path}"\nbroker = "sqlite:///x.db"\n'
    path.write_text(f"[run]\n{run}[topics]\n{topics}\n")
    with pytest.raises(ConfigError) as refused:
        load(path, [TopicsConfig])
    (line,) = str(refused.value).splitlines()
    assert line.startswith("topics")
    assert problem in line


def test_the_topics_of_the_widest_run_are_no_more_than_a_cluster_makes_at_once() -> None:
    specs = TopicsConfig(partitions=500).specs("run")
    assert sum(spec.partitions for spec in specs) < 4_000


def test_every_topic_can_be_set_apart() -> None:
    assert {topic.table for topic in ALL} <= TopicsConfig.model_fields.keys()

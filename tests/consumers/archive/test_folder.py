"""What goes along besides the messages: the run's config and its batches, into a folder."""

from pathlib import Path
from typing import Any

from consumers.archive import tool
from tests.consumers.archive.conftest import Recorded
from tests.runs import as_json, mentor_stream


def test_into_a_folder_a_run_comes_with_its_config_and_its_batches(recorded: Recorded, tmp_path: Path):
    directory = tmp_path / recorded.name
    directory.mkdir()
    (directory / "batches.jsonl").write_text('{"version":0,"groups":["a"]}\n{"version":1,"gro')
    with Path(recorded.config).open("a") as file:
        file.write('\n[mentor.guide]\nkind = "none"\napi_key = "hunter2"\n')
    file = tmp_path / "run.parquet"
    # such a key is no setting of that guide: only the commands that need no guide take it
    exported = as_json("export", recorded.config, str(file))
    assert exported["left_out"] == ["mentor.guide.api_key"]
    assert b"hunter2" not in file.read_bytes()

    home = tmp_path / "home"
    first = as_json("import", str(file), str(home))
    assert first["written"] == [str(home / "run.toml"), str(home / "batches.jsonl")]
    assert (home / "batches.jsonl").read_text() == '{"version":0,"groups":["a"]}\n'
    assert recorded.messages(f"sqlite:///{home}/stream.db") == recorded.messages()
    told = [
        sorted(mentor_stream("tail", "groups", config, "--no-follow", "--json").stdout.splitlines())
        for config in (recorded.config, str(home / "run.toml"))
    ]
    assert told[0] == told[1]
    done = mentor_stream("import", str(file), str(home / "batches.jsonl"))
    assert done.returncode == 2
    assert "batches.jsonl is no folder" in done.stderr
    (home / "run.toml").write_text("mine")
    again = as_json("import", str(file), str(home))
    assert (again["already_there"], again["written"]) == (True, [])
    assert (home / "run.toml").read_text() == "mine"


def test_batches_that_are_trained_meanwhile_do_not_go_along_since_their_groups_do_not(
    recorded: Recorded, tmp_path: Path
):
    journal, file = tmp_path / "batches.jsonl", tmp_path / "a.db"
    journal.write_text('{"version":0,"groups":["a\u2028b"]}\n')

    def train(*_: object) -> None:
        with journal.open("a") as more:
            more.write('{"version":1,"groups":["later"]}\n')

    request: dict[str, Any] = {"topics": [], "since": None, "until": None, "force": False, "path": file}
    tool.export(train, url=recorded.url, run=recorded.name, config=None, batches=journal, **request)
    assert len(journal.read_text().splitlines()) > 1
    as_json("import", str(file), str(tmp_path / "home"))
    assert (tmp_path / "home/batches.jsonl").read_text() == '{"version":0,"groups":["a\u2028b"]}\n'


def test_a_journal_that_cannot_be_read_is_named(recorded: Recorded, tmp_path: Path):
    (tmp_path / recorded.name).mkdir()
    journal = tmp_path / recorded.name / "batches.jsonl"
    journal.write_bytes(b'{"version":0,"groups":["\xff"]}\n')
    done = mentor_stream("export", recorded.config, str(tmp_path / "a.parquet"))
    assert done.returncode == 2
    assert f"{journal} cannot be read" in done.stderr
    assert not (tmp_path / "a.parquet").exists()


def test_another_run_s_config_does_not_go_along(recorded: Recorded, tmp_path: Path):
    file = tmp_path / "a.parquet"
    as_json("export", recorded.config, str(file))
    as_json("import", str(file), f"{recorded.config}:again")
    as_json("export", f"{recorded.config}:again", str(tmp_path / "again.db"))
    assert as_json("import", str(tmp_path / "again.db"), str(tmp_path / "home"))["written"] == []

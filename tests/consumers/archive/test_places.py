"""Where an archive and a copy may go: nothing that is there is written over, no run's name taken."""

from pathlib import Path

import pytest

from consumers.archive import manifest
from consumers.archive.manifest import ArchiveError, Manifest
from tests.consumers.archive.conftest import Recorded, on
from tests.runs import as_json, mentor_stream, write_config


def test_a_file_that_is_there_is_replaced_with_force_only_and_the_stream_itself_never(
    recorded: Recorded, tmp_path: Path
):
    file = tmp_path / "a.parquet"
    file.write_text("mine")
    done = mentor_stream("export", recorded.config, str(file))
    assert done.returncode == 2
    assert "is there already: name another file, or use --force" in done.stderr
    assert file.read_text() == "mine"
    as_json("export", recorded.config, str(file), "--force")
    assert as_json("import", str(file), str(tmp_path / "b.db"))["messages"] > 0
    done = mentor_stream("export", recorded.config, str(tmp_path / "stream.db"), "--force")
    assert "is the stream itself" in done.stderr
    assert (
        "name a file that ends in .parquet or .db"
        in mentor_stream("export", recorded.config, str(tmp_path / "a.csv")).stderr
    )


def test_an_archive_is_imported_once_under_a_name_and_another_run_is_never_written_over(
    recorded: Recorded, tmp_path: Path
):
    file, copy = tmp_path / "a.parquet", recorded.copy(tmp_path / "copy.db")
    as_json("export", recorded.config, str(file))
    assert not as_json("import", str(file), copy)["already_there"]
    known = recorded.messages(f"sqlite:///{tmp_path}/copy.db")
    assert as_json("import", str(file), copy)["already_there"]
    assert "was there already: nothing was changed" in mentor_stream("import", str(file), copy).stdout
    assert recorded.messages(f"sqlite:///{tmp_path}/copy.db") == known
    done = mentor_stream("import", str(file), recorded.config)
    assert done.returncode == 2
    assert f"run '{recorded.name}' is there already" in done.stderr
    part = tmp_path / "part.parquet"
    as_json("export", recorded.config, str(part), "--topics", "groups")
    assert "is there already" in mentor_stream("import", str(part), copy).stderr
    renamed = mentor_stream("import", str(file), f"{recorded.config}:again")
    assert f"Its name was {recorded.name}" in renamed.stdout
    assert recorded.messages(name="again") == recorded.messages()
    db = tmp_path / "direct.db"
    as_json("export", recorded.config, str(db))
    assert as_json("import", str(db), f"{recorded.config}:third")["messages"] > 0
    assert recorded.messages(name="third") == recorded.messages()
    assert "is a stream already" in mentor_stream("import", str(db), str(db)).stderr


def test_an_import_into_a_cluster_is_refused_with_the_reason(recorded: Recorded, tmp_path: Path):
    as_json("export", recorded.config, str(tmp_path / "a.parquet"))
    cluster = write_config(tmp_path, broker="kafka://127.0.0.1:9", name="cluster")
    done = mentor_stream("import", str(tmp_path / "a.parquet"), cluster)
    assert done.returncode == 2
    assert "a cluster gives offsets and times itself" in done.stderr


@pytest.mark.parametrize("name", ["x/y", " ", "..", "a\n", "\x1b[2J", "ä", "x" * 102])
def test_no_copy_gets_a_name_that_no_run_can_have(recorded: Recorded, tmp_path: Path, name: str):
    file = tmp_path / "a.parquet"
    as_json("export", recorded.config, str(file))
    done = mentor_stream("import", str(file), f"{recorded.config}:{name}")
    assert done.returncode == 2
    assert f"is {name!r}: expected the name of a run" in done.stderr
    assert all(topic.startswith(recorded.name) for topic in on(recorded.url, lambda broker: broker.topics()))
    seal = manifest.encode(Manifest(run=name, source="x", exported_at=0, since=None, until=None, topics=()))
    with pytest.raises(ArchiveError, match="is no name of a run"):
        manifest.decode(seal)


def test_of_a_stream_with_several_copies_none_is_guessed_and_the_way_out_works(
    recorded: Recorded, tmp_path: Path
):
    file, both = tmp_path / "a.parquet", tmp_path / "both.db"
    digest = as_json("export", recorded.config, str(file))["digest"]
    config = recorded.copy(both)
    for name in ("one", "two"):
        as_json("import", str(file), f"{config}:{name}")
    done = mentor_stream("import", str(both), str(tmp_path / "to.db"))
    assert done.returncode == 2
    assert f"{both}: it holds several runs (one, two). Export the one that is meant" in done.stderr
    assert as_json("export", f"{config}:one", str(tmp_path / "one.db"))["digest"] == digest

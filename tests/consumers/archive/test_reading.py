"""An archive as people and pandas read it, without importing it."""

from pathlib import Path

import pytest

from mentor_stream import topics
from schemas import decode
from tests.consumers.archive.conftest import CASES, Recorded
from tests.runs import as_json, mentor_stream


def test_the_parquet_file_is_a_table_for_pandas(recorded: Recorded, tmp_path: Path):
    pandas = pytest.importorskip("pandas")
    as_json("export", recorded.config, str(tmp_path / "a.parquet"))
    table = pandas.read_parquet(tmp_path / "a.parquet")
    groups = table[table.topic == "groups"]
    assert [list(v) for v in groups.verdicts] == [["right", "wrong", "unscorable", "aborted"]] * CASES
    assert [list(r)[:2] for r in groups.rewards] == [[1.0, 0.0]] * CASES
    assert groups.rewards.iloc[0][2] is None or pandas.isna(groups.rewards.iloc[0][2])
    assert set(groups.origin) == {"guided"}
    assert set(groups.policy_version) == {0}
    assert sorted(groups.question) == sorted(f"What is {n} + {n}?" for n in range(CASES))
    assert decode(groups.value.iloc[0], topics.GROUPS.record).group_id == groups.group_id.iloc[0]
    poison = table[(table.topic == "collapsed") & table.record.isna()]
    assert len(poison) == 3
    assert poison.error.str.contains("record unknown").all()
    assert str(table.time.dtype) == "datetime64[ns, UTC]"
    assert sorted(table[table.topic == "diagnoses"].outcome) == ["hint"] * CASES


def test_a_file_can_be_looked_at_without_importing_it(recorded: Recorded, tmp_path: Path):
    for name in ("a.parquet", "a.db"):
        exported = as_json("export", recorded.config, str(tmp_path / name))
        looked = as_json("import", str(tmp_path / name), "--verify")
        same = looked.keys() - {"seconds"}
        assert {key: exported[key] for key in same} == {key: looked[key] for key in same}
    for wrong in ([], [str(tmp_path / "to.db"), "--verify"]):
        done = mentor_stream("import", str(tmp_path / "a.db"), *wrong)
        assert done.returncode == 2
        assert "--verify to only look at it" in " ".join(done.stderr.split())


def test_the_table_for_people_names_topics_and_the_digest(recorded: Recorded, tmp_path: Path):
    done = mentor_stream("export", recorded.config, str(tmp_path / "a.parquet"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.split()[:2] == ["collapsed", f"{CASES + 3}"] for line in lines)
    assert any(line.startswith("digest ") for line in lines)
    assert all(len(line) <= 80 for line in lines if str(tmp_path) not in line)
    assert lines[1].split() == ["topic", "messages", "MB", "first", "last"], (
        "and what is missing where any is"
    )
    written = as_json("export", recorded.config, str(tmp_path / "b.db"))
    assert written["file_bytes"] == (tmp_path / "b.db").stat().st_size

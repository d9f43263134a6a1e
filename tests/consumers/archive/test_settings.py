"""The config that travels with an archive."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.archive import settings
from consumers.archive.manifest import ArchiveError

texts = st.text(st.characters(codec="utf-8"), max_size=6)
scalars = (
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | texts | st.datetimes()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(texts, values, max_size=4))
def test_what_is_written_as_toml_is_read_as_it_was(tables: dict):
    assert tomllib.loads(settings.toml(tables)) == tables


SECRETS = """
[run]
name = "r"
broker = "kafka://me:hunter2@host:9092?sasl_password=hunter3"
max_tokens = 7
seed_key = 3

[mentor.guide]
kind = "fdcg"
agents = { kind = "my.agents", api_key = "hunter4", api_key_env = "MY_KEY", headers = { x = "hunter5" } }
token = "hunter6"
servers = [{ url = "https://hunter7@host/v1", Password = "hunter8", apiKey = "hunter9", x-auth = "hunter1" }]
"""


def test_no_secret_of_the_config_travels_and_what_was_left_out_is_named(tmp_path: Path):
    (tmp_path / "run.toml").write_text(SECRETS)
    kept, left_out = settings.shareable(tmp_path / "run.toml")
    assert "hunter" not in settings.toml(kept)
    assert kept["run"] == {"name": "r", "broker": "kafka://host:9092", "max_tokens": 7, "seed_key": 3}
    assert kept["mentor"]["guide"]["agents"] == {"kind": "my.agents", "api_key_env": "MY_KEY"}
    assert kept["mentor"]["guide"]["servers"] == [{"url": "https://host/v1"}]
    assert left_out == [
        "run.broker (in part)",
        "mentor.guide.agents.api_key",
        "mentor.guide.agents.headers",
        "mentor.guide.token",
        "mentor.guide.servers.url (in part)",
        "mentor.guide.servers.Password",
        "mentor.guide.servers.apiKey",
        "mentor.guide.servers.x-auth",
    ]


def test_a_copy_has_its_own_directory_and_broker_and_is_the_only_one(tmp_path: Path):
    known = {"run": {"name": "r", "directory": "x"}, "data": {}}
    topics = {"partitions": 4, "replication": 3, "groups": {"replication": 2, "retention_hours": 7}}
    kept = settings.at_home({**known, "topics": topics}, tmp_path, "sqlite:///a.db")
    assert kept == {
        "run": {"name": "r", "directory": str(tmp_path), "broker": "sqlite:///a.db"},
        "data": {},
        "topics": {"partitions": 4, "groups": {"retention_hours": 7}},
    }
    assert "topics" not in settings.at_home(known, tmp_path, "sqlite:///a.db")


def test_a_config_that_cannot_be_read_is_named(tmp_path: Path):
    with pytest.raises(ArchiveError, match=r"config file .*none\.toml cannot be read"):
        settings.shareable(tmp_path / "none.toml")


def test_a_config_of_a_strange_archive_is_refused():
    with pytest.raises(ArchiveError, match="its config cannot be: "):
        settings.toml({"run": {"name": None}})

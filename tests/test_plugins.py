"""Named parts: built-in modules and a reader's own objects."""

from pathlib import Path

import pytest

from mentor_stream import plugins
from mentor_stream.config import ConfigError

OWN = """
from mentor_stream.config import Section

class Mine:
    class Config(Section):
        strength: int = 3

    @staticmethod
    def build(config, *context):
        return config.strength, context

nothing = object()
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"own_plugin_{abs(hash(tmp_path)) % 10**8}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_a_readers_own_object_is_built_with_its_options_and_the_context(own_module: str) -> None:
    table = {"kind": f"{own_module}:Mine", "strength": 5}
    assert plugins.build("producers.rewards", table, "reward.verifier", "context") == (5, ("context",))


def test_an_unknown_option_is_named_with_the_setting(own_module: str) -> None:
    with pytest.raises(ConfigError, match=r"reward\.verifier\.strngth: no such setting"):
        plugins.build("producers.rewards", {"kind": f"{own_module}:Mine", "strngth": 5}, "reward.verifier")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("telepathy", "reward.verifier.kind is 'telepathy': not found; known: "),
        ("no_such_module:Mine", "not found; is the module importable from here?"),
        ("{own}:Theirs", "has no Theirs"),
        ("{own}:nothing", "it offers no Config"),
    ],
)
def test_a_kind_that_is_not_there_says_what_to_do(own_module: str, kind: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plugins.build("producers.rewards", {"kind": kind.format(own=own_module)}, "reward.verifier")
    assert words in str(caught.value)


def test_a_table_without_a_kind_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"mentor\.guide\.kind is missing; known: .*fdcg"):
        plugins.build("consumers.guides", {}, "mentor.guide")

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

class Untyped(Mine):
    Config = 3

class Fragile(Mine):
    @staticmethod
    def build(config, *context):
        raise RuntimeError("no\\ntools")

    @staticmethod
    def check(config):
        yield "too strong"
        raise KeyError("here")

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


def test_a_module_of_the_working_directory_is_a_plugin_by_its_plain_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain_reward.py").write_text(
        "from mentor_stream.config import Section\nclass Config(Section): pass\ndef build(config): return 7\n"
    )
    assert plugins.build("producers.rewards", {"kind": "plain_reward"}, "reward.verifier") == 7


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
        ("{own}:Untyped", "its Config is no mentor_stream.config.Section"),
        *((kind, "expected module:object") for kind in ("", ".", "..x", ":x", "x:", "a/b")),
    ],
)
def test_a_kind_that_is_not_there_says_what_to_do(own_module: str, kind: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plugins.build("producers.rewards", {"kind": kind.format(own=own_module)}, "reward.verifier")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def build(:", "raised SyntaxError: "),
        ("1 / 0", "raised ZeroDivisionError: division by zero. See "),
        ("raise SystemExit(7)", "raised SystemExit: 7. See "),
        ("import no_such_package", "it needs the package no_such_package"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_line_that_says_why_and_where(
    own_module: str, source: str, words: str
) -> None:
    broken = f"broken_{abs(hash(source)) % 10**8}"
    Path(f"{broken}.py").write_text(f"\n{source}\n")
    with pytest.raises(ConfigError) as caught:
        plugins.load("producers.rewards", f"{broken}:Mine", "reward.verifier.kind")
    text = str(caught.value)
    assert text.startswith(f"reward.verifier.kind is '{broken}:Mine': ")
    assert words in text
    assert "needs the package" in text or text.endswith(f"{broken}.py line 2")
    assert len(text.splitlines()) == 1


def test_what_a_plugin_raises_in_its_build_or_check_is_one_line(own_module: str) -> None:
    table = {"kind": f"{own_module}:Fragile"}
    with pytest.raises(ConfigError, match=r"its build raised RuntimeError: no tools\. See .* line \d+$"):
        plugins.build("producers.rewards", table, "reward.verifier")
    (problem,) = plugins.check("producers.rewards", table, "reward.verifier")
    assert "its check raised KeyError: 'here'" in problem


def test_a_kind_that_is_no_text_is_not_called_missing() -> None:
    (problem,) = plugins.check("producers.rewards", {"kind": 3}, "reward.verifier")
    assert problem.startswith("reward.verifier.kind is 3: expected text; known: ")


def test_a_table_without_a_kind_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"mentor\.guide\.kind is missing; known: .*fdcg"):
        plugins.build("consumers.guides", {}, "mentor.guide")

"""Named parts: built-in modules and a reader's own objects."""

import subprocess
import sys
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


# what installed packages offer

ROOT = Path(__file__).parent.parent
PART = (
    "from mentor_stream.config import Section\nclass Config(Section): pass\ndef build(config): return {!r}\n"
)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which packages are installed; the working directory is another."""
    (tmp_path / "here").mkdir()
    (tmp_path / "site").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return tmp_path / "site"


def install(site: Path, name: str, entries: str, source: str | None = None) -> None:
    """What pip leaves of a package of one module."""
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entries)
    if source is not None:
        (site / f"{name}.py").write_text(source)


@pytest.mark.parametrize(
    ("group", "package"),
    [
        ("guides", "consumers.guides"),
        ("agents", "consumers.guides.fdcg.agents"),
        ("rewards", "producers.rewards"),
        ("engines", "producers.engines"),
    ],
)
def test_an_installed_package_offers_parts_by_a_name_of_its_choice(
    site: Path, group: str, package: str
) -> None:
    name = f"own_{group}"
    install(site, name, f"[mentor_stream.{group}]\nmy-own = {name}\nan_object = {name}:Inner.Part\n")
    (site / f"{name}.py").write_text(
        PART.format("module")
        + "class Inner:\n  class Part:\n    Config = Config\n"
        + "    build = staticmethod(lambda config: 'object')\n"
    )
    assert plugins.build(package, {"kind": "my-own"}, "x") == "module"
    assert plugins.build(package, {"kind": "an_object"}, "x") == "object"
    assert {"my-own", "an_object"} < set(plugins.known(package))
    others = {"consumers.guides", "producers.rewards", "producers.engines"} - {package}
    assert not any("my-own" in plugins.known(other) for other in others)


def test_ours_come_before_installed_ones_and_those_before_the_working_directory(site: Path) -> None:
    install(site, "both", "[mentor_stream.rewards]\nexact = both\nnearby = both\n", PART.format("installed"))
    Path("nearby.py").write_text(PART.format("from here"))
    assert plugins.load("producers.rewards", "exact", "x").__name__ == "producers.rewards.exact"
    assert plugins.build("producers.rewards", {"kind": "nearby"}, "x") == "installed"


@pytest.mark.parametrize(
    ("value", "source", "words"),
    [
        ("broken_one", "import no_such_package", "it needs the package no_such_package"),
        ("broken_one", "1 / 0", "importing it raised ZeroDivisionError"),
        ("broken_one", None, "not found; offered by broken_one as broken_one; install that package again"),
        ("broken_one:Gone", "", "broken_one has no Gone"),
        ("broken_one", "", "it offers no Config"),
        ("not a module", "", "offered by broken_one as not a module, which is no module or module:object"),
    ],
)
def test_a_broken_package_is_an_error_only_where_it_is_chosen(
    site: Path, monkeypatch: pytest.MonkeyPatch, value: str, source: str | None, words: str
) -> None:
    install(site, "broken_one", f"[mentor_stream.guides]\nbad = {value}\n", source)
    monkeypatch.delitem(sys.modules, "broken_one", raising=False)
    assert "bad" in plugins.known("consumers.guides")
    assert plugins.check("consumers.guides", {"kind": "none"}, "mentor.guide") == []
    (problem,) = plugins.check("consumers.guides", {"kind": "bad"}, "mentor.guide")
    assert problem.startswith("mentor.guide.kind is 'bad': ")
    assert words in problem


def test_a_name_that_two_packages_offer_is_ambiguous(site: Path) -> None:
    for name in ("one_of_two", "two_of_two"):
        install(site, name, f"[mentor_stream.guides]\ntwice = {name}\n", PART.format(name))
    (problem,) = plugins.check("consumers.guides", {"kind": "twice"}, "mentor.guide")
    assert "offered by one_of_two as one_of_two and by two_of_two as two_of_two" in problem


def test_the_check_command_knows_an_installed_guide(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = PART.format(None).replace("pass", "strength: int") + "def check(config): yield 'too weak'\n"
    install(site, "third_party", "[mentor_stream.guides]\nthird-party = third_party\n", source)
    monkeypatch.setenv("PYTHONPATH", str(site))

    def checked(kind: str, strength: str) -> str:
        monkeypatch.setenv("MENTOR_STREAM__MENTOR__GUIDE__KIND", kind)
        monkeypatch.setenv("MENTOR_STREAM__MENTOR__GUIDE__STRENGTH", strength)
        command = [sys.executable, "-m", "mentor_stream.cli", "check", "examples/chain/vanilla.toml"]
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60).stderr

    assert checked("third-party", "3") == "too weak\n"
    assert checked("third-party", "x").startswith("mentor.guide.strength is 'x': ")
    assert "known: critique, fdcg, filter, none, static, third-party; your own as" in checked("fourth", "3")

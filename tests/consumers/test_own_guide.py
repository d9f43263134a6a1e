"""docs/guides.md: the guide of one's own on that page works, and its settings are there."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from consumers.guides import critique, fdcg, static
from mentor_stream import plugins
from schemas import Outcome
from tests.builders import a_query
from tests.consumers.lessons import a_collapsed_group, taught
from tests.consumers.scripted import a_case

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/guides.md").read_text()
KINDS = {"none", "filter", "static", "critique", "fdcg"}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def tables() -> list[dict]:
    return [tomllib.loads(block) for block in blocks("toml")]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's guide, installed with the page's entry point."""
    (source,) = blocks("python")
    (entries,) = (t["project"]["entry-points"] for t in tables() if "project" in t)
    ((group, offered),) = entries.items()
    (tmp_path / "wrong_answers.py").write_text(source)
    metadata = tmp_path / "wrong_answers-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: wrong-answers\nVersion: 1.0\n")
    lines = (f"{name} = {value}" for name, value in offered.items())
    (metadata / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_guide_is_short() -> None:
    (source,) = blocks("python")
    assert len(source.splitlines()) <= 30


async def test_the_guide_teaches_on_a_real_stream_under_its_installed_name(installed: Path) -> None:
    guide = plugins.build("consumers.guides", {"kind": "wrong-answers", "most": 2}, "mentor.guide")
    attempts = ("2 + 3 = 4", "so 7", "4", "it is 9", "no idea", "7")
    found = await taught(installed, guide, a_query(), attempts=attempts)
    assert found.hints == ["These answers are wrong: 4, 7"]
    assert found.guided[0].hint.guide == "wrong-answers"


async def test_the_guide_is_silent_without_numbers_and_where_it_may_not_name_them(installed: Path) -> None:
    guide = plugins.build("consumers.guides", {"kind": "wrong-answers"}, "mentor.guide")
    for case in (
        a_case(group=a_collapsed_group(a_query(), "no idea")),
        a_case(leaks=lambda _: True),
        a_case(fits=lambda _: False),
    ):
        lesson = await guide.teach(case)
        assert (lesson.outcome, lesson.hint) == (Outcome.SILENT, None)


def test_the_check_command_knows_the_guide_and_its_option(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(installed))
    monkeypatch.setenv("MENTOR_STREAM__MENTOR__GUIDE__KIND", "wrong-answers")
    command = [sys.executable, "-m", "mentor_stream.cli", "check", "examples/chain/vanilla.toml"]

    def checked() -> tuple[int, str]:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
        return done.returncode, done.stderr

    assert checked() == (0, "")
    monkeypatch.setenv("MENTOR_STREAM__MENTOR__GUIDE__MOST", "few")
    assert checked()[1].startswith("mentor.guide.most is 'few': ")


def test_the_page_names_every_kind_that_is_built_in() -> None:
    assert {name for name in KINDS if f"| `{name}` |" in PAGE} == set(plugins.known("consumers.guides"))


def test_every_setting_on_the_page_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hints.jsonl").write_text("\n".join(blocks("json")))
    shown = [table["mentor"]["guide"] for table in tables() if "mentor" in table]
    assert {guide["kind"] for guide in shown} >= KINDS - {"none"}
    for guide in shown:
        assert plugins.check("consumers.guides", guide, "mentor.guide") == []


def options_of(kind: str) -> dict[str, str]:
    """The table of a guide's section: options and defaults."""
    section = PAGE.partition(f"\n## {kind}\n")[2].partition("\n## ")[0]
    rows: dict[str, str] = {}
    for names, default in re.findall(r"^\| (`[^|]+`) \|([^|]*)\|", section, re.MULTILINE):
        rows |= dict.fromkeys(re.findall(r"`(\w+)`", names), default.strip())
    return rows


@pytest.mark.parametrize(("kind", "guide"), [("static", static), ("critique", critique), ("fdcg", fdcg)])
def test_every_option_is_on_the_page_with_its_default(kind: str, guide: Any) -> None:
    rows, fields = options_of(kind), guide.Config.model_fields
    shared = set() if guide is fdcg else fdcg.agents.llm.Config.model_fields.keys() - {"name"}
    assert fields.keys() - shared <= rows.keys()
    for option in ("first_level", "max_retry", "max_refine", "n_drafts", "response_characters"):
        if option in fields:
            assert rows[option] == str(fields[option].default)

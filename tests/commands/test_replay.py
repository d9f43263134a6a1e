"""`mentor-stream replay` as people read it; what it does is tested where it is done."""

from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from mentor_stream import tools
from mentor_stream.commands.replay import app

DOCUMENT: dict[str, Any] = {
    "run": "again", "guide": "fdcg", "outcomes": {"hint": 1_200}, "cases": 1_234, "calls": 4_000,
    "errors": 0, "refined": 3, "redrafted": 2, "leaks": 1, "prompt_tokens": 12_345_678,
    "completion_tokens": 1_234_567, "cost": 4.5, "seconds": 1_234.5, "unreadable": 0, "repeated": 5,
    "replies": {"kept": 0, "asked": 4_000}, "digest": "0" * 32, "problem": None,
}  # fmt: skip


def test_its_figures_are_whole_numbers_under_the_words_that_compare_has(monkeypatch: pytest.MonkeyPatch):
    """Millions of tokens are usual: 1.23457e+07 says less."""
    done = SimpleNamespace(replay=lambda *_, **__: DOCUMENT)
    monkeypatch.setattr(tools, "load", lambda _: done)
    shown = CliRunner().invoke(app, ["--from", "examples/chain/demo.toml", "--to", "again"])
    assert shown.exit_code == 0, shown.output
    rows = [" ".join(line.split()) for line in shown.output.splitlines()]
    for row in (
        "prompt tokens 12,345,678",
        "fresh drafts 2",
        "outcome: hint 1,200",
        "cases recorded again 5",
    ):
        assert row in rows

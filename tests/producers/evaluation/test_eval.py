"""`mentor-stream eval` as a user has it, with a model that knows next to nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.runs import mentor_stream

SUITE = """
title = "Sums"
questions = "sums.jsonl"
verifier = { kind = "exact" }
samples = 3
temperature = 1.0
max_new_tokens = 4
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a suite."""
    monkeypatch.chdir(tmp_path)
    rows = [{"question": f"What is {a} + {b} ?", "answer": str(a + b)} for a in range(4) for b in range(4)]
    rows.append({"question": "What is " + "1 + " * 40 + "1 ?", "answer": "41"})
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "sums.toml").write_text(SUITE)
    (tmp_path / "long.toml").write_text(SUITE + 'template = "' + "1 + " * 40 + '{question}"\n')
    return tmp_path


def evaluated(place: Path, model: Path, *options: str) -> dict[str, Any]:
    done = mentor_stream("eval", str(model), "--suite", "sums.toml", "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_model_is_asked_once_each_question_that_fits_and_compared_with_another(
    place: Path, tiny_policy: Path, policy_with: Callable[..., Path]
):
    part = evaluated(place, tiny_policy, "--out", "one", "--questions", "5")["suites"]["sums"]
    assert (part["questions"], part["samples"], set(part["pass"])) == (5, 3, {"1", "2"})
    kept = (place / "one" / "sums.jsonl").read_bytes()
    whole = evaluated(place, tiny_policy, "--out", "one")["suites"]["sums"]
    assert whole["questions"] == 16, "one has more tokens than the model positions"
    assert (place / "one" / "sums.jsonl").read_bytes().startswith(kept), "answers that were there are kept"
    again = evaluated(place, tiny_policy, "--out", "one", "--questions", "5")["suites"]["sums"]
    assert again == part

    other = policy_with(seed=1)
    against = evaluated(place, other, "--out", "other", "--against", "one")["suites"]["sums"]["against"]
    assert against["questions"] == 16
    both = [json.loads(line) for line in (place / "one" / "sums.jsonl").read_bytes().splitlines()[1:]]
    right = sum(answer["verdict"] == "right" for asked in both for answer in asked["answers"])
    assert whole["accuracy"] == pytest.approx(right / 48)
    refused = mentor_stream("eval", str(other), "--suite", "sums.toml", "--out", "one")
    assert refused.returncode == 2
    assert "has answers of another evaluation (model was" in refused.stderr


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ([], "eval needs a MODEL and at least one --suite"),
        (["nowhere", "--suite", "sums.toml"], "MODEL is 'nowhere': no such directory"),
        (
            ["MODEL", "--suite", "sums.toml", "--data", "none.jsonl"],
            "suite sums is 'none.jsonl': no such file",
        ),
        (["MODEL", "--suite", "sums.toml", "--engine", "{kind"], "--engine is '{kind'"),
        (["MODEL", "--suite", "sums.toml", "--engine", "warp"], "'warp'"),
        (["MODEL", "--suite", "sums.toml", "--max-new-tokens", "64"], "set --max-new-tokens to "),
        (["MODEL", "--suite", "sums.toml", "--max-prompt-tokens", "1"], "--max-prompt-tokens is 1: raise it"),
        (["MODEL", "--suite", "long.toml"], "positions: take a model with more"),
        (["MODEL", "--suite", "sums.toml", "--against", "none"], "none/sums.jsonl is no file of answers"),
    ],
)
def test_what_cannot_work_is_one_line_with_the_way_out(
    place: Path, tiny_policy: Path, options: list[str], problem: str
):
    given = [str(tiny_policy) if option == "MODEL" else option for option in options]
    done = mentor_stream("eval", *given)
    assert done.returncode == 2, done.stderr
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_the_suites_there_are_are_listed():
    shown = mentor_stream("eval", "--list")
    assert "math500" in shown.stdout
    assert json.loads(mentor_stream("eval", "--list", "--json").stdout)["math500"]["group"] == "math"

"""Suites of code and knowledge as a user has them, with a model whose words are whole answers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from producers.datasets import hub
from producers.datasets.reading import read
from producers.evaluation import suite as suites
from tests.models import a_tokenizer
from tests.producers.rewards.verifiers import needs_bubblewrap
from tests.runs import as_json

TWICE = "```python\ndef f(x): return 2 * x\n```"
SAME = "```python\ndef f(x): return x\n```"
ANSWERS = (TWICE, SAME, "(A)", "(B)", "nothing")
WORDS = ("<pad>", "<s>", "</s>", "<unk>", *ANSWERS)
HUMANEVAL = {"prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return 2 * x\n"}
ROWS: dict[str, list[dict[str, Any]]] = {
    "humaneval": [
        HUMANEVAL | {"task_id": f"T/{n}", "test": f"def check(f):\n    assert f({n}) == {2 * n}"}
        for n in (1, 2, 3)
    ],
    "mbpp": [
        {"text": f"Double {n}.", "test_list": [f"assert f({n}) == {2 * n}"], "code": "def f(x): return x + x"}
        for n in (1, 2, 3)
    ],
    "mmlu": [
        {"question": f"{n}?", "choices": ["no", "(A) or (B)", "c", "d"], "answer": 1} for n in (1, 2, 3)
    ],
}
RIGHT = {"humaneval": TWICE, "mbpp": TWICE, "mmlu": "(B)"}


@pytest.fixture
def model(policy_with: Callable[..., Path]) -> Path:
    path = policy_with(vocab_size=len(WORDS), max_position_embeddings=256)
    a_tokenizer(WORDS, first="<s>", bos_token="<s>", eos_token="</s>", pad_token="<pad>").save_pretrained(
        path
    )
    return path


@needs_bubblewrap
def test_each_answer_of_a_suite_gets_the_verdict_that_it_deserves(tmp_path: Path, model: Path) -> None:
    out = tmp_path / "out"
    for name, right in RIGHT.items():
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS[name]))
        asking = ("--suite", name, "--data", str(tmp_path / "rows.jsonl"), "--out", str(out))
        sampling = ("--samples", "8", "--temperature", "10", "--max-new-tokens", "1")
        document = as_json("eval", str(model), *asking, *sampling)["suites"][name]
        assert (document["questions"], document["unscorable_answers"]) == (3, 0)
        asked = [json.loads(line) for line in (out / f"{name}.jsonl").read_bytes().splitlines()[1:]]
        answers = [answer for one in asked for answer in one["answers"]]
        assert len(answers) == 24
        for answer in answers:
            assert (answer["verdict"] == "right") is (answer["text"] == right), answer
        said = {answer["text"] for answer in answers}
        assert said >= {right, "nothing"}, "neither all are right nor all are wrong"


def test_what_suites_name_on_the_hub_are_names_of_the_hub() -> None:
    named = [one.questions for one in suites.known().values() if one.questions.startswith(hub.PREFIX)]
    assert "hub:bigcode/bigcodebench:v0.1.4" in named
    assert [name for name in named if not hub._NAME.fullmatch(name)] == []


def test_humaneval_is_read_from_its_package() -> None:
    one = suites.known()["humaneval"].data(None)
    dataset = read(one.train, one, "suite humaneval")
    assert len(dataset.rows) == 164
    assert dataset.rows[0].question.startswith("from typing import List")

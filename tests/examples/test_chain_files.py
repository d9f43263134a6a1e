"""What the chain example ships: its questions, its policy and its configs fit its code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.chain import make_questions, task, tokenizer
from tests.examples.chain import a_question

CHAIN = Path("examples/chain")
POLICY = CHAIN / "policy"
HINT = task.Hint(4, 66)


@pytest.fixture(scope="module")
def words():
    return pytest.importorskip("transformers").AutoTokenizer.from_pretrained(POLICY)


def test_the_shipped_questions_are_those_the_script_makes(tmp_path: Path) -> None:
    make_questions.main(tmp_path)
    for name in ("train.jsonl", "test.jsonl"):
        assert (tmp_path / name).read_bytes() == (CHAIN / name).read_bytes()


def test_no_held_out_question_is_trained_on() -> None:
    train, test = make_questions.questions()
    assert (len(train), len(test)) == (make_questions.TRAIN, make_questions.TEST)
    assert not set(train) & set(test)


def test_the_shipped_tokenizer_is_the_one_the_code_builds(words) -> None:
    shipped, built = (json.loads(t.backend_tokenizer.to_str()) for t in (words, tokenizer.build()))
    assert shipped == built
    assert words.padding_side == "left"


@given(st.integers(0, 10_000))
def test_prompts_and_completions_survive_the_tokenizer(words, seed: int) -> None:
    question = a_question(seed)
    prompt, answer = f"Hint: {HINT}\n{question}", task.completion(question.values())
    ids = words(prompt)["input_ids"]
    assert words.decode(ids, skip_special_tokens=True) == prompt
    assert tokenizer.UNK not in ids
    assert words(prompt + answer + "</s>")["input_ids"] == [
        *ids,
        *(tokenizer.TOKENS.index(f" {value:02d}") for value in question.values()),
        tokenizer.EOS,
    ]


def test_every_operand_stands_equally_far_before_what_it_is_applied_to(words) -> None:
    question = a_question()
    for prompt in (str(question), f"Hint: {HINT}\n{question}"):
        tokens = words.convert_ids_to_tokens(words(prompt)["input_ids"])
        operands = [place for place, token in enumerate(tokens) if token[1:2] in ("+", "-")]
        applied_to = range(len(tokens) - 1, len(tokens) - 1 + task.STEPS)
        assert {b - a for a, b in zip(operands, applied_to, strict=True)} == {task.STEPS + 1}


def test_the_shipped_policy_divides_by_tensor_parallel_sizes_up_to_four() -> None:
    config = json.loads((POLICY / "config.json").read_text())
    assert config["vocab_size"] == tokenizer.SIZE == len(tokenizer.TOKENS)
    for size in ("num_attention_heads", "num_key_value_heads", "intermediate_size", "vocab_size"):
        assert config[size] % 4 == 0, size


def test_neither_the_reward_nor_the_mentor_imports_torch() -> None:
    code = (
        "import sys; from examples.chain import make_questions, mentor_agents, reward;"
        "print([m for m in ('torch', 'transformers') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"

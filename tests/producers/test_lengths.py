"""Questions that do not fit into the longest prompt are told before a run."""

from pathlib import Path

from mentor_stream.prompts import PromptConfig
from producers.datasets.base import Dataset, Row
from producers.lengths import fit, judged

FILE = Path("questions.jsonl")


def test_where_no_question_fits_the_file_and_the_shortest_are_named() -> None:
    problem, warning = judged([9, 7, 8], 5, FILE)
    assert problem is not None
    assert problem.startswith(
        "prompt.max_prompt_tokens is 5: none of the first 3 questions of questions.jsonl fits, "
        "the shortest has 7 tokens."
    )
    assert warning is None


def test_where_some_do_not_fit_it_is_a_warning_with_their_number() -> None:
    problem, warning = judged([9, 5, 8], 5, FILE)
    assert problem is None
    assert warning is not None
    assert "2 of the first 3 questions of questions.jsonl are longer (up to 9 tokens)" in warning


def test_where_all_fit_or_none_is_counted_nothing_is_said() -> None:
    assert judged([5, 1], 5, FILE) == judged([], 5, FILE) == (None, None)


def test_the_policy_s_own_tokenizer_counts_what_the_template_makes_of_a_question(tmp_path: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({"x": 0}, unk_token="x"))
    tokenizer.pre_tokenizer = Whitespace()  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    dataset = Dataset(FILE, [Row("line 1", "two words", "1", None, {})], "digest")
    for most, fits in ((4, True), (3, False)):
        prompt = PromptConfig(template="Answer this {question}", max_prompt_tokens=most)
        assert (fit(dataset, tmp_path, prompt, 10).problem is None) is fits
    assert fit(dataset, tmp_path / "nowhere", prompt, 10) == (None, None)

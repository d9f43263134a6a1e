"""Prepared hints: which level a round gives, what a library must look like, and lessons on a real stream."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from consumers.drafts import UNSEEN
from consumers.guides import static
from consumers.guides.static import library
from consumers.guides.static.guide import PARTIAL, Static
from consumers.guides.static.levels import beginning, within
from mentor_stream import plugins
from mentor_stream.config import ConfigError
from schemas import Outcome
from tests.builders import a_group, a_query
from tests.consumers.lessons import taught
from tests.consumers.scripted import a_case
from tests.runs import as_process

pytestmark = pytest.mark.anyio

QUESTION = "What is 2 + 3?"
LEVELS = ["Think of a number line.", "Start at two.", "Take three steps from two."]


def a_library(directory: Path, *lines: Any) -> Path:
    file = directory / "hints.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    file.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return file


def a_guide(**options: Any) -> Static:
    return plugins.build("consumers.guides", {"kind": "static"} | options, "mentor.guide")


def problems(**options: Any) -> list[str]:
    return plugins.check("consumers.guides", {"kind": "static"} | options, "mentor.guide")


@pytest.fixture
def guide(tmp_path: Path) -> Static:
    return a_guide(library=a_library(tmp_path, {"question": QUESTION, "hints": LEVELS}))


# which level


@given(
    st.lists(st.text(max_size=3), max_size=6, unique=True), st.integers(1, 8), st.sets(st.text(max_size=3))
)
def test_no_level_is_above_the_rounds_or_below_one_that_was_given(
    levels: list[str], highest: int, given: set[str]
) -> None:
    numbers = [number for number, _ in within(levels, highest, given)]
    used = [number for number, level in enumerate(levels[:highest], 1) if level in given]
    assert numbers == sorted(numbers, reverse=True)
    assert all(max(used, default=0) < number <= highest for number in numbers)
    assert [levels[number - 1] for number in numbers] == [text for _, text in within(levels, highest, given)]


@given(st.text(alphabet="ab. \n!", max_size=80), st.floats(0.01, 0.99))
def test_the_beginning_of_a_solution_is_no_longer_than_its_share(solution: str, share: float) -> None:
    part = beginning(solution, share)
    assert solution.strip().startswith(part)
    assert len(part) <= share * len(solution.strip())


def test_a_solution_is_cut_where_a_sentence_or_line_ends_and_else_between_words() -> None:
    solution = "Half of 3.5 is 1.75. Add it to seven.\nThat makes a sum of some size"
    assert beginning(solution, 0.4) == "Half of 3.5 is 1.75."
    assert beginning(solution, 0.7) == "Half of 3.5 is 1.75. Add it to seven."
    assert beginning(solution, 0.2) == "Half of 3.5"
    assert beginning("一二三。四五六。七八九", 0.8) == "一二三。四五六。"
    assert beginning("word", 0.5) == ""


async def test_each_round_goes_one_level_further_on_a_real_stream(tmp_path: Path, guide: Static) -> None:
    found = await taught(tmp_path, guide, a_query(QUESTION), rounds=4)
    assert found.hints == LEVELS
    assert [d.outcome for d in found.diagnoses] == [Outcome.HINT] * 3 + [Outcome.SILENT]
    assert [d.reason for d in found.diagnoses[2:]] == ["library; level 3 of 3", "library; no level is left"]


async def test_a_first_level_further_on_is_where_rounds_start(tmp_path: Path) -> None:
    hints = a_library(tmp_path, {"question": QUESTION, "hints": LEVELS})
    found = await taught(tmp_path, a_guide(library=hints, first_level=2), a_query(QUESTION), rounds=3)
    assert found.hints == LEVELS[1:]


async def test_a_level_that_leaks_is_passed_over_for_a_vaguer_one_and_never_published(tmp_path: Path) -> None:
    levels = ["Count on.", "It is 5, is it not?", "Start at two."]
    guide = a_guide(library=a_library(tmp_path, {"question": QUESTION, "hints": levels}), first_level=2)
    found = await taught(tmp_path, guide, a_query(QUESTION), rounds=2)
    assert found.hints == ["Count on.", "Start at two."]
    checks = [(c.agent, c.draft, c.passed) for c in found.diagnoses[0].calls]
    assert checks == [("leak_guard", 1, False), ("leak_guard", 0, True), ("budget", 0, True)]
    assert found.diagnoses[0].calls[0].result == "the hint gives the answer away: 5"
    assert "not level 2: the hint gives the answer away: 5" in found.diagnoses[0].reason


async def test_a_level_that_does_not_fit_is_passed_over_and_nothing_is_said_when_none_does(
    tmp_path: Path,
) -> None:
    hints = a_library(tmp_path, {"question": QUESTION, "hints": ["Count on.", "step " * 50]})
    found = await taught(tmp_path, a_guide(library=hints, first_level=2), a_query(QUESTION), most_words=20)
    assert found.hints == ["Count on."]
    assert [(c.agent, c.passed) for c in found.diagnoses[0].calls][1] == ("budget", False)
    silent = await a_guide(library=hints).teach(a_case(fits=lambda _: False))
    assert (silent.outcome, silent.hint) == (Outcome.SILENT, None)
    assert "not level 1: the hint is too long" in silent.reason


# where hints are from


async def test_a_question_without_an_entry_gets_the_beginning_of_its_solution(tmp_path: Path) -> None:
    solved = replace(
        a_query("What is 1 + 1 + 3?"), solution="Add the ones. They are two. Then add three. So 5."
    )
    hints = a_library(tmp_path, {"question": QUESTION, "hints": LEVELS})
    guide = a_guide(library=hints, solution_shares=[0.3, 0.6], general=["Count."])
    found = await taught(tmp_path, guide, solved, rounds=2)
    assert found.hints == [PARTIAL + "Add the ones.", PARTIAL + "Add the ones. They are two."]
    assert found.diagnoses[0].reason == "worked solution; level 1 of 2"


async def test_the_part_of_a_solution_that_holds_the_answer_is_not_published(tmp_path: Path) -> None:
    solved = replace(a_query(), solution="Take three steps. You come to 5. That is where it ends, is it not?")
    found = await taught(tmp_path, a_guide(solution_shares=[0.3, 0.6]), solved, rounds=2)
    assert found.hints == [PARTIAL + "Take three steps."]
    assert "gives the answer away" in found.diagnoses[1].reason


async def test_a_question_without_either_gets_the_general_hints_or_silence_with_the_reason(
    tmp_path: Path,
) -> None:
    hints = a_library(tmp_path, {"question": "Another?", "hints": LEVELS})
    guide = a_guide(library=hints, solution_shares=[0.5], general=["Take your time.", "Check each step."])
    found = await taught(tmp_path, guide, a_query(), rounds=2)
    assert found.hints == ["Take your time.", "Check each step."]
    assert {d.outcome for d in found.diagnoses} == {Outcome.FALLBACK}
    (diagnosis,) = (await taught(tmp_path / "other", a_guide(library=hints), a_query(position=1))).diagnoses[
        -1:
    ]
    assert (diagnosis.outcome, diagnosis.reason) == (
        Outcome.SILENT,
        "the library has no entry; no general hints",
    )


async def test_a_key_column_is_looked_up_in_what_the_dataset_carries_along(tmp_path: Path) -> None:
    guide = a_guide(library=a_library(tmp_path, {"id": 7, "hints": LEVELS}), key="id")
    lesson = await guide.teach(
        a_case(group=a_group("WW", query=replace(a_query("Whatever?"), extra={"id": "7"})))
    )
    assert lesson.hint == LEVELS[0]
    without = await guide.teach(a_case(group=a_group("WW", query=a_query("Whatever?"))))
    assert without.outcome is Outcome.SILENT
    assert "no column 'id': data.extra must list it" in without.reason


async def test_white_space_in_a_question_makes_no_difference(tmp_path: Path) -> None:
    guide = a_guide(library=a_library(tmp_path, {"question": "What is\n 2 + 3? ", "hints": LEVELS}))
    assert (await guide.teach(a_case())).hint == LEVELS[0]


# the library


@given(
    st.dictionaries(
        st.text(min_size=1).filter(str.strip),
        st.lists(st.text(min_size=1).filter(lambda t: t.strip() and not UNSEEN.search(t)), min_size=1),
        max_size=8,
    )
)
def test_every_entry_is_found_again(
    tmp_path_factory: pytest.TempPathFactory, entries: dict[str, list[str]]
) -> None:
    entries = {library.plain(question): hints for question, hints in entries.items()} or {"q": ["h"]}
    lines = [{"question": question, "hints": hints} for question, hints in entries.items()]
    found = library.read(a_library(tmp_path_factory.mktemp("x"), *lines), "question", "s")
    assert {question: list(found.hints(question)) for question in entries} == entries
    assert found.hints("no such question") == ()


def test_every_problem_of_a_library_is_named_with_its_line(tmp_path: Path) -> None:
    fine = {"question": QUESTION, "hints": LEVELS, "answer": "5"}
    file = a_library(
        tmp_path,
        fine,
        "",
        '{"question": "A?", "hints"',
        ["no", "object"],
        {"prompt": "B?", "hints": LEVELS},
        {"question": "C?"},
        {"question": "D?", "hints": []},
        {"question": "E?", "hints": ["x", " "]},
        {"question": "F?", "hints": [3]},
        '{"question": "G?", "hints": ["\\ud800 x"]}',
        {"question": "What  is 2 + 3?", "hints": LEVELS},
    )
    found = problems(library=str(file))
    assert [problem.removeprefix(f"{file} ").split(":")[0] for problem in found] == [
        *(f"line {n}" for n in range(3, 11)),
        "line 11",
    ]
    for problem, words in zip(
        found,
        (
            "not JSON",
            "list, expected an object",
            "no 'question' (there are: 'prompt', 'hints'); see mentor.guide.key",
            "hints must be a list of texts",
            "hints must be a list of texts",
            "level 2 of hints is empty",
            "level 1 of hints is int, expected text",
            "not JSON",
            "the same question as line 1",
        ),
        strict=True,
    ):
        assert words in problem


def test_a_hint_with_control_characters_is_named(tmp_path: Path) -> None:
    file = a_library(tmp_path, {"question": "A?", "hints": ["Write it as \frac{1}{2}."]})  # a form feed
    (problem,) = problems(library=str(file))
    assert "level 1 of hints has control characters" in problem


def test_no_more_problems_are_named_than_anyone_reads(tmp_path: Path) -> None:
    assert len(problems(library=str(a_library(tmp_path, *["{}"] * 1000)))) == library.MOST_PROBLEMS
    same = [{"question": "A?", "hints": ["x"]}] * 1000
    assert len(problems(library=str(a_library(tmp_path, *same)))) == library.MOST_PROBLEMS


def test_a_file_of_another_kind_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"x" * (library.MAX_LINE + 10) + b"\n{}\n{}\n")
    (problem,) = problems(library=str(tmp_path / "model.bin"))
    assert "line 1: longer than 1048576 bytes" in problem


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "mentor.guide: nothing to give: set at least one of library"),
        ({"library": "nowhere.jsonl"}, "mentor.guide.library is 'nowhere.jsonl': no such file"),
        ({"library": "."}, "mentor.guide.library is '.': not a file"),
        ({"solution_shares": [0.5, 1]}, "mentor.guide.solution_shares.1 is 1: "),
        ({"solution_shares": [0.5, 0.25]}, "expected each share to be larger than the one before"),
        ({"general": ["x", " "]}, "a hint must not be empty"),
        ({"general": ["x\0"]}, "a hint must not have control characters"),
        ({"general": ["x"], "first_level": 0}, "mentor.guide.first_level is 0"),
        ({"general": ["x"], "libary": "y"}, "mentor.guide.libary: no such setting. Did you mean library?"),
    ],
)
def test_options_that_cannot_work_are_named(options: dict[str, Any], words: str) -> None:
    (problem,) = problems(**options)
    assert words in problem


def test_an_empty_library_is_named(tmp_path: Path) -> None:
    (problem,) = problems(library=str(a_library(tmp_path, "", " ")))
    assert problem.endswith("it holds no hints.")


def test_a_byte_order_mark_is_no_part_of_a_question(tmp_path: Path) -> None:
    file = a_library(tmp_path, "\ufeff" + json.dumps({"question": QUESTION, "hints": LEVELS}))
    assert library.read(file, "question", "s").hints(QUESTION) == tuple(LEVELS)


async def test_a_library_that_was_changed_or_taken_away_meanwhile_is_silence_with_the_reason(
    tmp_path: Path, guide: Static
) -> None:
    a_library(tmp_path, {"question": "Another?", "hints": LEVELS})
    assert "was changed after the mentor started" in (await guide.teach(a_case())).reason
    a_library(tmp_path, "{")
    assert "can no longer be read: not JSON" in (await guide.teach(a_case())).reason
    (tmp_path / "hints.jsonl").unlink()
    lesson = await guide.teach(a_case())
    assert (lesson.outcome, lesson.hint) == (Outcome.SILENT, None)
    assert "can no longer be read" in lesson.reason


def test_the_check_command_names_the_line(tmp_path: Path) -> None:
    a_library(tmp_path, {"question": QUESTION, "hints": LEVELS}, {"question": "A?", "hints": [""]})
    (tmp_path / "run.toml").write_text(
        "[run]\nname = 'x'\ndirectory = 'x'\nbroker = 'sqlite:///x.db'\npolicy = '.'\nmax_versions = 1\n"
        "[data]\ntrain = 'train.jsonl'\n[mentor.guide]\nkind = 'static'\nlibrary = 'hints.jsonl'\n"
    )
    assert (
        "hints.jsonl line 2: level 1 of hints is empty."
        in as_process("check", "run.toml", cwd=tmp_path).stderr
    )


def test_a_library_that_cannot_be_used_stops_the_mentor_before_it_starts(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="line 1: hints must be a list"):
        static.build(static.Config(library=a_library(tmp_path, {"question": "A?"})))

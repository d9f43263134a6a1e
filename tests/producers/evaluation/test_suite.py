"""The suites that are known, and those of one's own."""

from pathlib import Path

import pytest

from mentor_stream import plugins
from mentor_stream.config import ConfigError
from producers.evaluation import suite as suites
from producers.rewards.base import REWARDS

KNOWN = suites.known()


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_suite_has_a_verifier_and_questions_that_are_there_for_the_asking(name: str):
    one = KNOWN[name]
    plugins.configure(REWARDS, one.verifier, name)
    assert "{question}" in one.template
    assert one.group in {"math", "code", "knowledge"}
    assert one.samples == 1 or one.temperature > 0
    assert one.data(None).train == Path(one.questions)


def test_a_group_is_all_of_its_suites():
    assert set(suites.chosen(["math"])) == {name for name, one in KNOWN.items() if one.group == "math"}


def test_a_suite_that_there_is_not_is_said_with_those_that_there_are():
    with pytest.raises(
        ConfigError, match=r"--suite is 'maths': there is no such suite\. Known: .*math500.*math"
    ):
        suites.chosen(["maths"])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("title = 3", r"suite own\.toml\.title is 3"),
        ('title = "x"', r"suite own\.toml\.questions is missing"),
        ("title = ", r"own\.toml: .*Invalid value"),
    ],
)
def test_a_file_of_ones_own_that_cannot_work_is_said_to_be_wrong_and_where(
    tmp_path: Path, text: str, problem: str
):
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(ConfigError, match=problem):
        suites.chosen([str(tmp_path / "own.toml")])


def test_options_go_before_what_a_suite_says():
    (one,) = suites.chosen(["math500"]).values()
    changed = suites.changed(one, {"samples": 7, "top_p": 0.9})
    assert (changed.samples, changed.top_p, changed.temperature) == (7, 0.9, one.temperature)


def test_several_answers_without_chance_are_refused():
    (one,) = suites.chosen(["math500"]).values()
    with pytest.raises(ConfigError, match="--samples is 4, but at --temperature 0 all answers are alike"):
        suites.changed(one, {"samples": 4, "temperature": 0.0})

"""The config file: what is accepted, and what a user reads when it is not."""

from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from pydantic import Field, PositiveInt

from mentor_stream.config import ConfigError, RunConfig, Section, load, load_part, parse_section

RUN = """
[run]
name = "x"
directory = "runs/x"
broker = "sqlite:///runs/x/stream.db"
policy = "policy"
"""


class Lessons(Section):
    """A component's section."""

    table: ClassVar[str] = "lessons"

    size: int = Field(8, ge=2)
    guide: dict[str, Any] = Field(default_factory=dict)
    heat: float | None = None
    shown: bool | int = False


class Needy(Section):
    """A section that cannot be left out."""

    table: ClassVar[str] = "needy"

    path: Path


def written(directory: Path, text: str) -> Path:
    path = directory / "config.toml"
    path.write_text(text)
    return path


class Parts(Section):
    table: ClassVar[str] = "parts"

    guide: dict[str, Any] = {}  # noqa: RUF012


def refusal(path: Path, *kinds: type[Section]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(path, kinds)
    return str(caught.value).splitlines()


def test_a_section_with_defaults_may_be_left_out(tmp_path: Path) -> None:
    config = load(written(tmp_path, RUN), [Lessons])
    assert config.run.batch_groups == 32
    assert config.of(Lessons).size == 8


def test_a_section_with_a_required_setting_may_not_be_left_out(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, RUN), Needy) == ["needy is missing. It has no default: set it."]


def test_an_unknown_key_and_an_unknown_table_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, RUN + "batch_group = 3\n[lessns]\nsize = 4\n")
    assert refusal(path, Lessons) == [
        "run.batch_group: no such setting. Did you mean batch_groups? Check the spelling, or take it out.",
        "lessns: no such setting. Did you mean lessons? Check the spelling, or take it out.",
    ]


def test_a_setting_like_no_other_is_named_without_a_guess(tmp_path: Path) -> None:
    path = written(tmp_path, RUN + "xylophone = 3\n")
    assert refusal(path) == ["run.xylophone: no such setting. Check the spelling, or take it out."]


def test_a_name_where_a_table_is_due_shows_what_a_table_looks_like(tmp_path: Path) -> None:
    path = written(tmp_path, RUN + "[parts]\nguide = 'fdcg'\n")
    assert refusal(path, Parts) == ["parts.guide is 'fdcg': expected a table, such as { kind = \"...\" }."]


def test_every_problem_is_reported_at_once_with_its_setting_and_value(tmp_path: Path) -> None:
    path = written(tmp_path, RUN.replace('"x"', '"a b"') + "seed = -1\n[lessons]\nsize = 1\n")
    problems = refusal(path, Lessons)
    assert [p.split(" is ")[0] for p in problems] == ["run.name", "run.seed", "lessons.size"]
    assert problems[1] == "run.seed is -1: input should be greater than or equal to 0."
    assert problems[2] == "lessons.size is 1: input should be greater than or equal to 2."


@pytest.mark.parametrize(
    ("run", "lessons", "problem"),
    [
        ("batch_groups = true", "", "run.batch_groups is True: expected a number, not true or false."),
        (f"seed = {2**63}", "", f"run.seed is {2**63}: input should be less than {2**63}."),
        ("", "heat = true", "lessons.heat is True: expected a number, not true or false."),
        ("", "heat = inf", "lessons.heat is inf: input should be a finite number."),
        ("", "heat = nan", "lessons.heat is nan: input should be a finite number."),
    ],
)
def test_a_value_that_only_looks_like_a_number_is_refused(
    tmp_path: Path, run: str, lessons: str, problem: str
) -> None:
    assert refusal(written(tmp_path, f"{RUN}{run}\n[lessons]\n{lessons}\n"), Lessons) == [problem]


def test_true_is_fine_where_the_setting_may_be_a_switch(tmp_path: Path) -> None:
    assert load(written(tmp_path, RUN + "[lessons]\nshown = true\n"), [Lessons]).of(Lessons).shown is True


@pytest.mark.parametrize("content", [b"\xff", b"a = " + b"[" * 5000, b"a = " + b"1" * 5000])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.toml").write_bytes(content)
    (problem,) = refusal(tmp_path / "config.toml")
    assert "config.toml cannot be read" in problem


def test_a_directory_is_not_called_missing(tmp_path: Path) -> None:
    assert "not a file" in refusal(tmp_path)[0]


def test_a_table_in_the_environment_that_is_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTOR_STREAM__LESSONS", "{")
    assert "MENTOR_STREAM__" in refusal(written(tmp_path, RUN), Lessons)[0]


def test_a_missing_file_names_the_working_directory(tmp_path: Path) -> None:
    (problem,) = refusal(tmp_path / "nowhere.toml")
    assert "nowhere.toml: no such file" in problem
    assert str(Path.cwd()) in problem


def test_another_run_where_only_the_own_one_can_be_is_said_to_be_the_mistake(tmp_path: Path) -> None:
    path = written(tmp_path, RUN)
    (problem,) = refusal(path.with_name(f"{path.name}:again"))
    assert problem.endswith("This command is about the config's own run: CONFIG without :NAME")


def test_broken_toml_names_the_line(tmp_path: Path) -> None:
    (problem,) = refusal(written(tmp_path, "[run\n"))
    assert "not valid TOML" in problem
    assert "line 1" in problem


def test_of_a_file_that_is_read_in_part_the_other_tables_are_only_known_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTOR_STREAM__NEEDY__PATH", "elsewhere")
    path = written(tmp_path, "[lessons]\nsize = 4\n[needy]\nno = 1\n")
    part = load_part(path, [Lessons], ["run", "needy", "lessons"])
    assert (part.of(Lessons).size, list(part.sections)) == (4, ["lessons"])
    with pytest.raises(ConfigError) as caught:
        load_part(written(tmp_path, "[lessns]\n"), [Lessons], ["run", "needy"])
    assert str(caught.value) == (
        f"{path}: lessns: no such setting. Did you mean lessons? Check the spelling, or take it out."
    )


def test_the_environment_overrides_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENTOR_STREAM__RUN__SEED", "7")
    monkeypatch.setenv("MENTOR_STREAM__LESSONS__GUIDE__KIND", "none")
    path = written(tmp_path, RUN + "seed = 1\n[lessons.guide]\nkind = 'fdcg'\nretries = 2\n")
    config = load(path, [Lessons])
    assert config.run.seed == 7
    assert config.of(Lessons).guide == {"kind": "none", "retries": 2}
    assert config.of(RunConfig).name == "x"


def test_an_override_of_no_section_is_named_and_not_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTOR_STREAM__RUNN__SEED", "7")
    (problem,) = refusal(written(tmp_path, RUN), Lessons)
    assert problem == (
        "MENTOR_STREAM__RUNN__SEED in the environment: there is no section 'runn'; known: lessons, run."
    )


class Asked(Section):
    base_url: str = Field(pattern="^x$")
    api_key_env: str = Field("KEY", pattern="^[A-Z]+$")
    most: PositiveInt | Literal["unlimited"] = 1


def told(**options: object) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_section(Asked, {"base_url": "x", **options}, "asked")
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:s3cret@host/v1", "'https://***@host/v1'"),
        ("https://host/v1?key=s3cret", "'https://host/v1?***'"),
        ("https://host/v1", "'https://host/v1'"),
    ],
)
def test_an_error_shows_a_url_without_what_is_secret_in_it(url: str, shown: str) -> None:
    assert told(base_url=url).startswith(f"asked.base_url is {shown}: ")


def test_a_key_where_its_name_is_due_is_not_repeated() -> None:
    problem = told(api_key_env="sk-s3cret")
    assert problem.startswith("asked.api_key_env: ")
    assert "s3cret" not in problem


def test_a_setting_of_several_kinds_is_called_by_its_name_alone() -> None:
    assert {line.partition(" is ")[0] for line in told(most=0).splitlines()} == {"asked.most"}


def test_a_mistake_in_the_environment_is_said_to_come_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTOR_STREAM__RUN__SEDE", "1")
    monkeypatch.setenv("MENTOR_STREAM__RUN__BATCH_GROUPS", "many")
    problems = refusal(written(tmp_path, RUN + "seed = -1"))
    assert any(
        p.startswith("run.sede (MENTOR_STREAM__RUN__SEDE in the environment): no such") for p in problems
    )
    assert any("run.batch_groups (MENTOR_STREAM__RUN__BATCH_GROUPS in the" in p for p in problems)
    assert any(p.startswith("run.seed is -1: ") for p in problems), "which the file says"


def test_a_name_that_no_run_can_have_is_told_in_words(tmp_path: Path) -> None:
    (problem,) = refusal(written(tmp_path, RUN.replace('"x"', '"my demo"', 1)))
    assert problem.startswith("run.name is 'my demo': expected letters, digits, dots, dashes and underscores")

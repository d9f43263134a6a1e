"""A suite: which questions, how they are asked, who judges the answers. One TOML file a suite."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from mentor_stream.config import ConfigError, Section, parse_section
from producers.datasets.base import DataConfig, PresetName

HOME = Path(__file__).parent / "suites"


class Suite(Section):
    """What a suite's file says. Options of `mentor-stream eval` go before it."""

    title: str
    group: str = ""
    """A name for several suites at once, such as math."""
    questions: str
    """Where they are, as in `data.train`: a file, a folder, `hub:OWNER/NAME/SUBSET:SPLIT`."""
    preset: PresetName | None = None
    """A known dataset, whose columns need no names."""
    question: str = "question"
    answer: str = "answer"
    """Columns of the question and of what the verifier compares with."""
    extra: tuple[str, ...] = ()
    """Further columns that the verifier wants to see."""
    verifier: dict[str, Any]
    """As `reward.verifier`."""
    template: str = "{question}"
    system: str | None = None
    """As in [prompt]."""
    samples: int = Field(1, ge=1)
    """Answers to each question."""
    temperature: float = Field(0.6, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    max_new_tokens: int = Field(2048, ge=1)

    def data(self, place: str | None) -> DataConfig:
        """Its questions as a dataset, or those of another place that has the same columns."""
        table = {"train": place or self.questions, "preset": self.preset, "extra": self.extra}
        columns = {} if self.preset else {"question": self.question, "answer": self.answer}
        return DataConfig.model_validate(table | columns)


def known() -> dict[str, Suite]:
    """The suites that come with this package, by name."""
    return {path.stem: _read(path) for path in sorted(HOME.glob("*.toml"))}


def chosen(names: Sequence[str]) -> dict[str, Suite]:
    """Suites by name, by group, or by the path of a file of one's own. Raises ConfigError."""
    found: dict[str, Suite] = {}
    there = known()
    for name in names:
        if name.endswith(".toml"):
            found[Path(name).stem] = _read(Path(name))
        elif name in there:
            found[name] = there[name]
        elif of_group := {key: suite for key, suite in there.items() if suite.group == name}:
            found |= of_group
        else:
            groups = sorted({suite.group for suite in there.values()})
            raise ConfigError(
                f"--suite is {name!r}: there is no such suite. Known: {', '.join(there)}; groups of them: "
                f"{', '.join(groups)}; or give the path of a .toml file of your own."
            )
    return found


def changed(suite: Suite, options: Mapping[str, Any]) -> Suite:
    """The suite with these settings in place of its own, but for those that are None. Raises ConfigError."""
    given = {name: value for name, value in options.items() if value is not None}
    table = suite.model_dump(exclude_unset=True) | given
    suite = parse_section(Suite, table, "eval")
    if suite.samples > 1 and suite.temperature == 0:
        raise ConfigError(
            f"--samples is {suite.samples}, but at --temperature 0 all answers are alike. Set the one to 1, "
            "or the other above 0."
        )
    return suite


def _read(path: Path) -> Suite:
    import tomllib

    try:
        table = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"suite {path}: {error}") from error
    return parse_section(Suite, table, f"suite {path.name}")

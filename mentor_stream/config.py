"""A run's configuration: one TOML file, a section per concern, each typed where it is used.

Relative paths are relative to the working directory. Any setting can be overridden from the
environment as MENTOR_STREAM__SECTION__KEY (nested tables: one more __ each).
"""

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
)
from pydantic_core import ErrorDetails

from mentor_stream.weights import address

ENV_PREFIX = "MENTOR_STREAM__"
RUN_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,100}$"

_OWN_RUN = "This command is about the config's own run: CONFIG without :NAME"

Known = Mapping[str, Sequence[str]]
"""The names that there are in a table, by its place: none is the outermost."""


class ConfigError(Exception):
    """A setting that cannot work; one line per problem, each with the setting, its value and the way out."""


def is_run_name(name: str) -> bool:
    """Whether a run can have this name: what it is called, its topics are called too."""
    return re.fullmatch(RUN_NAME, name) is not None


_RUN_NAME_WORDS = "letters, digits, dots, dashes and underscores, a letter or digit first, 101 at most"


def check_run_name(setting: str, name: str) -> None:
    """Raises ConfigError where the name, given as `setting`, is none that a run can have."""
    if not is_run_name(name):
        raise ConfigError(f"{setting} is {name!r}: expected the name of a run, {_RUN_NAME_WORDS}")


class Malformed(ConfigError):
    """Mistakes of form: tables that are no sections. The others, if [run] is among them, can be looked at."""

    def __init__(self, problems: str, sound: "Config") -> None:
        super().__init__(problems)
        self.sound = sound


class Section(BaseModel):
    """One table of the config file, or the options of one plugin."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)

    table: ClassVar[str] = ""
    """Name of the table in the file; empty for a plugin's options."""

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, field: ValidationInfo) -> Any:
        """Not pydantic's strict mode: the environment spells numbers as text."""
        wanted = _leaves(cls.model_fields[field.field_name or ""].annotation)
        if isinstance(value, bool) and (int in wanted or float in wanted) and bool not in wanted:
            raise ValueError("expected a number, not true or false")
        return value


def _leaves(annotation: Any) -> list[Any]:
    """The types that an annotation is composed of."""
    parts = get_args(annotation)
    return [leaf for part in parts for leaf in _leaves(part)] if parts else [annotation]


S = TypeVar("S", bound=Section)


class RunConfig(Section):
    """What every component of a run must agree on."""

    table: ClassVar[str] = "run"

    name: str
    """Namespace of the run's topics."""
    directory: Path
    """Where the run keeps snapshots, checkpoints, logs and results."""
    snapshots: str | None = None
    """Where policies are for those who sample: a directory that all see, or object storage such as
    `s3://bucket/path`; left out, the run's directory."""
    broker: str
    """Where the stream is: a URL, whose scheme chooses the engine, such as `sqlite:///path.db`."""
    policy: Path
    """The model to start from: a Hugging Face directory."""
    weights_from: str | None = None
    """`host:port` at which the trainer sends new weights to servers that have `weights` = gloo or nccl; left
    out, it sends none."""
    seed: int = Field(0, ge=0, lt=2**63)
    batch_groups: int = Field(32, ge=1)
    """Groups in one training batch."""
    max_staleness: int = Field(4, ge=0)
    """No token sampled by a policy more than this many versions old is trained on."""
    max_tokens: int | None = Field(None, ge=1)
    """The run is over when this many completion tokens were generated for it."""
    max_versions: int | None = Field(None, ge=1)
    """The run is over when this many batches were trained."""

    @field_validator("name")
    @classmethod
    def _can_name_topics(cls, name: str) -> str:
        if not is_run_name(name):
            raise ValueError(f"expected {_RUN_NAME_WORDS}, as its topics are called after it")
        return name

    @field_validator("weights_from")
    @classmethod
    def _is_an_address(cls, where: str | None) -> str | None:
        if where is not None:
            address.split(where)
        return where


@dataclass(frozen=True)
class Config:
    """The parsed file."""

    path: Path
    sections: Mapping[str, Section]

    @property
    def run(self) -> RunConfig:
        """What every component agrees on."""
        return self.of(RunConfig)

    def of(self, kind: type[S]) -> S:
        """The section of this type."""
        found = self.sections[kind.table]
        assert isinstance(found, kind)
        return found


def load(path: Path, kinds: Iterable[type[Section]]) -> Config:
    """Read the file with these sections beside [run].

    Raises ConfigError naming every problem at once, as Malformed where some of the sections are sound.
    """
    return _load(path, {RunConfig.table: RunConfig} | {kind.table: kind for kind in kinds})


def load_part(path: Path, kinds: Iterable[type[Section]], others: Iterable[str]) -> Config:
    """Read these sections alone: tables called as one of `others` may be there, and are not looked at.

    Raises ConfigError, which names the file in every line: it is not the only one of its command.
    """
    wanted = {kind.table: kind for kind in kinds}
    try:
        return _load(path, wanted, set(others) - wanted.keys())
    except Malformed as error:
        problems = (f"{path}: {problem}" for problem in str(error).split("\n"))
        raise ConfigError("\n".join(problems)) from error


def _load(path: Path, wanted: Mapping[str, type[Section]], others: Collection[str] = ()) -> Config:
    if not os.path.isfile(path):  # noqa: PTH113 - of a name that is too long it says no more than that
        what = "not a file" if os.path.exists(path) else "no such file"  # noqa: PTH110
        own = f". {_OWN_RUN}" if os.path.isfile(str(path).rpartition(":")[0]) else ""  # noqa: PTH113
        raise ConfigError(f"config file {path}: {what} (working directory {Path.cwd()}){own}")
    if strangers := _foreign_overrides(os.environ, {*wanted, *others}):
        raise ConfigError("\n".join(strangers))
    try:
        return _config(path, wanted, _read(path, wanted, others))
    except ValidationError as error:
        known: Known = {"": [*wanted, *others]} | {
            table: list(kind.model_fields) for table, kind in wanted.items()
        }
        problems = "\n".join(_problem(e, known) for e in error.errors())
        broken = {e["loc"][0] for e in error.errors()}
        sound = {table: kind for table, kind in wanted.items() if table not in broken}
        raise Malformed(problems, _config(path, sound, _read(path, sound, others, extra="ignore"))) from error


def _config(path: Path, wanted: Mapping[str, type[Section]], settings: BaseModel) -> Config:
    return Config(path=path, sections={table: getattr(settings, table) for table in wanted})


def _foreign_overrides(environment: Mapping[str, str], tables: Collection[str]) -> list[str]:
    """Problems with overrides of no section: a misspelt one must not be ignored."""
    return [
        f"{name} in the environment: there is no section {table!r}; known: {', '.join(sorted(tables))}."
        for name in environment
        if name.startswith(ENV_PREFIX)
        and (table := name.removeprefix(ENV_PREFIX).partition("__")[0].lower()) not in tables
    ]


def _read(
    path: Path,
    wanted: Mapping[str, type[Section]],
    others: Collection[str],
    extra: Literal["forbid", "ignore"] = "forbid",
) -> BaseModel:
    """The sections validated together: the environment's word before the file's. Raises ValidationError for
    their form, ConfigError for what cannot be read."""
    import tomllib

    from pydantic_settings import (
        BaseSettings,
        PydanticBaseSettingsSource,
        SettingsConfigDict,
        SettingsError,
        TomlConfigSettingsSource,
    )

    class Base(BaseSettings):
        model_config = SettingsConfigDict(
            extra=extra, env_prefix=ENV_PREFIX, env_nested_delimiter="__", toml_file=path
        )

        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return env_settings, TomlConfigSettingsSource(settings_cls)

    fields: dict[str, Any] = dict.fromkeys(others, (Any, None))
    fields |= {table: (kind, _default(kind)) for table, kind in wanted.items()}
    try:
        return create_model("Settings", __base__=Base, **fields)()
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"config file {path} is not valid TOML: {error}") from error
    except ValidationError:
        raise
    except SettingsError as error:
        raise ConfigError(f"the environment's {ENV_PREFIX}...: {error}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"config file {path} cannot be read: {error}") from error


def _default(kind: type[Section]) -> Any:
    """A table may be left out when every setting in it has a default."""
    return ... if any(f.is_required() for f in kind.model_fields.values()) else kind()


def parse_section(kind: type[S], table: Mapping[str, Any], setting: str) -> S:
    """Validate one table that was read elsewhere, such as a plugin's options. Raises ConfigError."""
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        known: Known = {"": list(kind.model_fields)}
        raise ConfigError("\n".join(_problem(e, known, setting) for e in error.errors())) from error


def _problem(error: ErrorDetails, known: Known, setting: str = "") -> str:
    """One line."""
    place = [part for part in map(str, error["loc"]) if not part.startswith(_KINDS_OF_A_UNION)]
    where = ".".join(filter(None, [setting, *place]))
    where += _override(place, os.environ) if not setting else ""
    if error["type"] == "extra_forbidden":
        *place, name = error["loc"]
        near = get_close_matches(str(name), known.get(".".join(map(str, place)), ()), 1)
        meant = f"Did you mean {near[0]}? " if near else ""
        return f"{where}: no such setting. {meant}Check the spelling, or take it out."
    if error["type"] == "missing":
        return f"{where} is missing. It has no default: set it."
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "dict_type":
        message = 'expected a table, such as { kind = "..." }'
    if isinstance(error["input"], Mapping) and error["type"] == "value_error":
        return f"{where}: {message}."  # of a whole section: it is not repeated
    if _SECRET.search(".".join(place)):
        return f"{where}: {message[:1].lower()}{message[1:]}."
    return f"{where} is {_shown(error['input'])}: {message[:1].lower()}{message[1:]}."


def _override(place: Sequence[str], environment: Mapping[str, str]) -> str:
    """Said of a setting that does not come from the file."""
    wanted = ENV_PREFIX + "__".join(place).upper()
    name = next((name for name in environment if name.upper() == wanted), None)
    return f" ({name} in the environment)" if name else ""


_KINDS_OF_A_UNION = ("literal[", "constrained-", "function-")
"""How pydantic calls them, as if they were settings."""
_SECRET = re.compile(r"(?:key|key_env|password|secret)$")
"""Settings into which somebody may have put the secret itself."""


def _shown(value: Any) -> str:
    """The value as it may stand in an error: a URL without user, password and query."""
    return re.sub(r"(?<=://)[^/@\s]*@", "***@", re.sub(r"(?<=\?)[^'\"\s]+", "***", repr(value)))

"""Named parts that a config chooses: engines, rewards, guides, agents.

A name is the first of these that there is:

    of ours              a module of the package that holds them (`math` is producers/rewards/math.py)
    of an installed one  an entry point of the group mentor_stream.<parts>: guides, agents, rewards, engines
    a reader's own       a `module` of the working directory, a dotted `package.module`, a `module:object`

Each offers two names:

    Config               a Section with the part's options
    build(config, ...)   the part, made from them

The module's top level stays light: heavy imports belong inside `build`.
"""

import importlib
import re
import sys
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path
from typing import Any, Protocol

from mentor_stream.config import ConfigError, Section, parse_section

NAME = re.compile(r"\w+(\.\w+)*(:\w+(\.\w+)*)?")


class Plugin(Protocol):
    """A module or object that offers a part."""

    Config: type[Section]

    build: Any


def load(package: str, kind: str, setting: str) -> Plugin:
    """The plugin called `kind`. Raises ConfigError naming `setting` when there is none that can be used."""
    importable_from_here()
    place, way_out = _place(package, kind, setting)
    module_name, _, attribute = place.partition(":")
    with _somebodys(setting, kind, "importing it"):
        try:
            found: Any = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
                raise ConfigError(f"{setting} is {kind!r}: it needs the package {error.name}") from error
            raise ConfigError(f"{setting} is {kind!r}: not found; {way_out}") from error
        for name in filter(None, attribute.split(".")):
            if not hasattr(found, name):
                raise ConfigError(f"{setting} is {kind!r}: {module_name} has no {name}")
            found = getattr(found, name)
        for name in ("Config", "build"):
            if not hasattr(found, name):
                raise ConfigError(
                    f"{setting} is {kind!r}: it offers no {name}; name what has Config and build"
                )
        if not (isinstance(found.Config, type) and issubclass(found.Config, Section)):
            raise ConfigError(f"{setting} is {kind!r}: its Config is no mentor_stream.config.Section")
    return found


def _place(package: str, kind: str, setting: str) -> tuple[str, str]:
    """The `module` or `module:object` that a kind stands for, and what to do when it is not there."""
    if kind not in _built_in(package):
        if found := [entry for entry in _installed(package) if entry.name == kind]:
            return _entry(found, kind, setting)
        if not NAME.fullmatch(kind):
            raise ConfigError(
                f"{setting} is {kind!r}: expected module:object, package.module or one of those known: "
                f"{', '.join(known(package))}"
            )
        if ":" in kind or "." in kind or Path(f"{kind}.py").is_file():
            return kind, "is the module importable from here?"
    names = ", ".join(known(package))
    return f"{package}.{kind}", f"known: {names}; your own as module:object or package.module"


def _entry(found: Sequence[EntryPoint], kind: str, setting: str) -> tuple[str, str]:
    """What an installed package offers under a name, which must be the only one to do so."""
    offers = sorted(f"{entry.dist.name if entry.dist else 'a package'} as {entry.value}" for entry in found)
    if len(found) > 1:
        raise ConfigError(
            f"{setting} is {kind!r}: offered by {' and by '.join(offers)}; uninstall one of them"
        )
    value = found[0].value.strip()
    if not NAME.fullmatch(value):
        raise ConfigError(
            f"{setting} is {kind!r}: offered by {offers[0]}, which is no module or module:object"
        )
    return value, f"offered by {offers[0]}; install that package again"


def importable_from_here() -> None:
    """Let modules of the working directory be imported, however the process was started."""
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))


def known(package: str) -> list[str]:
    """Names of the plugins of a package: the built-in ones and those that installed packages offer."""
    return sorted({*_built_in(package), *(entry.name for entry in _installed(package))})


def _built_in(package: str) -> list[str]:
    home = importlib.import_module(package).__path__[0]
    parts = (p for p in Path(home).iterdir() if p.suffix == ".py" or (p / "__init__.py").exists())
    return [p.stem for p in parts if p.stem not in ("__init__", "base")]


def _installed(package: str) -> EntryPoints:
    """What installed packages offer for a package of ours; nothing is imported."""
    return entry_points(group=f"mentor_stream.{package.rpartition('.')[2]}")


def build(package: str, table: Mapping[str, Any], setting: str, *context: Any) -> Any:
    """The part that a config table such as `{kind = "math", ...}` describes. Raises ConfigError."""
    plugin, config = configure(package, table, setting)
    with _somebodys(f"{setting}.kind", table["kind"], "its build"):
        return plugin.build(config, *context)


def check(package: str, table: Mapping[str, Any], setting: str) -> list[str]:
    """Problems of a config table: of its options, and what the plugin's `check(config)`, if any, finds."""
    try:
        plugin, config = configure(package, table, setting)
        with _somebodys(f"{setting}.kind", table["kind"], "its check"):
            find: Any = getattr(plugin, "check", None)
            return list(find(config)) if find else []
    except ConfigError as error:
        return [str(error)]


def configure(package: str, table: Mapping[str, Any], setting: str) -> tuple[Plugin, Section]:
    """The plugin of a config table and its validated options. Raises ConfigError."""
    options = dict(table)
    kind = options.pop("kind", None)
    if not isinstance(kind, str):
        what = "missing" if kind is None else f"{kind!r}: expected text"
        raise ConfigError(f"{setting}.kind is {what}; known: {', '.join(known(package))}")
    plugin = load(package, kind, f"{setting}.kind")
    with _somebodys(f"{setting}.kind", kind, "its Config"):
        return plugin, parse_section(plugin.Config, options, setting)


@contextmanager
def _somebodys(setting: str, kind: str, what: str) -> Generator[None]:
    """Somebody else's code may raise anything, and may even leave: one line that says what and where."""
    try:
        yield
    except (ConfigError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigError(f"{setting} is {kind!r}: {what} raised {said}. See {_raised_at(error)}") from error


def _raised_at(error: BaseException) -> str:
    """File and line that raised, the import machinery's own aside."""
    if isinstance(error, SyntaxError):
        return f"{error.filename} line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    last = [frame for frame in frames if not frame.filename.startswith("<frozen ")][-1]
    return f"{last.filename} line {last.lineno}"

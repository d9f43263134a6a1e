"""Named parts that a config chooses: engines, rewards, guides, agents.

A name is a module of the package that holds them (`math` is producers/rewards/math.py) or, for a
reader's own, a `module` of the working directory, a dotted `package.module` or a `module:object`. Each offers
two names:

    Config               a Section with the part's options
    build(config, ...)   the part, made from them

The module's top level stays light: heavy imports belong inside `build`.
"""

import importlib
import re
import sys
import traceback
from collections.abc import Generator, Mapping
from contextlib import contextmanager
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
    if not NAME.fullmatch(kind):
        raise ConfigError(
            f"{setting} is {kind!r}: expected module:object, package.module or one of those known: "
            f"{', '.join(known(package))}"
        )
    own = ":" in kind or "." in kind or (kind not in known(package) and Path(f"{kind}.py").is_file())
    module_name, _, attribute = kind.partition(":") if own else (f"{package}.{kind}", "", "")
    importable_from_here()
    with _somebodys(setting, kind, "importing it"):
        try:
            found: Any = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
                raise ConfigError(f"{setting} is {kind!r}: it needs the package {error.name}") from error
            way_out = f"known: {', '.join(known(package))}; your own as module:object or package.module"
            way_out = "is the module importable from here?" if own else way_out
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


def importable_from_here() -> None:
    """Let modules of the working directory be imported, however the process was started."""
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))


def known(package: str) -> list[str]:
    """Names of the built-in plugins of a package."""
    home = importlib.import_module(package).__path__[0]
    parts = (p for p in Path(home).iterdir() if p.suffix == ".py" or (p / "__init__.py").exists())
    return sorted(p.stem for p in parts if p.stem not in ("__init__", "base"))


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
        raise ConfigError(f"{setting} is {kind!r}: {what} raised {said}. See {_place(error)}") from error


def _place(error: BaseException) -> str:
    """File and line that raised, the import machinery's own aside."""
    if isinstance(error, SyntaxError):
        return f"{error.filename} line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    last = [frame for frame in frames if not frame.filename.startswith("<frozen ")][-1]
    return f"{last.filename} line {last.lineno}"

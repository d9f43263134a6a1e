"""Named parts that a config chooses: engines, rewards, guides.

A name is a module of the package that holds them (`math` is producers/rewards/math.py) or, for a
reader's own, a dotted `package.module` or a `module:object`, importable from the working directory. Each
offers two names:

    Config               a Section with the part's options
    build(config, ...)   the part, made from them

The module's top level stays light: heavy imports belong inside `build`.
"""

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from mentor_stream.config import ConfigError, Section, parse_section


class Plugin(Protocol):
    """A module or object that offers a part."""

    Config: type[Section]

    build: Any


def load(package: str, kind: str, setting: str) -> Plugin:
    """The plugin called `kind`. Raises ConfigError naming `setting` when there is none."""
    own = ":" in kind or "." in kind
    module_name, _, attribute = kind.partition(":") if own else (f"{package}.{kind}", "", "")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not module_name.startswith(error.name):
            raise ConfigError(f"{setting} is {kind!r}: it needs the package {error.name}") from error
        way_out = "is the module importable from here?" if own else f"known: {', '.join(known(package))}"
        raise ConfigError(f"{setting} is {kind!r}: not found; {way_out}") from error
    for name in filter(None, attribute.split(".")):
        if not hasattr(found, name):
            raise ConfigError(f"{setting} is {kind!r}: {module_name} has no {name}")
        found = getattr(found, name)
    for name in ("Config", "build"):
        if not hasattr(found, name):
            raise ConfigError(f"{setting} is {kind!r}: it offers no {name}")
    return found


def known(package: str) -> list[str]:
    """Names of the built-in plugins of a package."""
    home = importlib.import_module(package).__path__[0]
    parts = (p for p in Path(home).iterdir() if p.suffix == ".py" or (p / "__init__.py").exists())
    return sorted(p.stem for p in parts if p.stem not in ("__init__", "base"))


def build(package: str, table: Mapping[str, Any], setting: str, *context: Any) -> Any:
    """The part that a config table such as `{kind = "math", ...}` describes."""
    plugin, config = configure(package, table, setting)
    return plugin.build(config, *context)


def configure(package: str, table: Mapping[str, Any], setting: str) -> tuple[Plugin, Section]:
    """The plugin of a config table and its validated options. Raises ConfigError."""
    options = dict(table)
    kind = options.pop("kind", None)
    if not isinstance(kind, str):
        raise ConfigError(f"{setting}.kind is missing; known: {', '.join(known(package))}")
    plugin = load(package, kind, f"{setting}.kind")
    return plugin, parse_section(plugin.Config, options, setting)

"""A run's config as it travels with an archive: without what is nobody else's business."""

import json
import re
import tomllib
from collections.abc import Mapping
from datetime import date, time
from pathlib import Path
from typing import Any

from consumers.archive.manifest import ArchiveError

_SECRET = re.compile(
    r"(?:^|[_-])(?:api_?key|key|token|secret|password|passwd|passphrase|pwd|credentials?|auth|authorization|bearer"
    r"|cookies?|headers?)$"
)
"""Names of settings into which somebody may have put a secret. What ends in `_env` only names a variable."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def shareable(path: Path) -> tuple[dict[str, Any], list[str]]:
    """What the config file says, without secrets; and the settings that were left out. What the environment
    has to say is never taken. Raises ArchiveError."""
    try:
        tables = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ArchiveError(f"config file {path} cannot be read: {error}") from error
    left_out: list[str] = []
    return _shareable(tables, "", left_out), left_out


def at_home(tables: Mapping[str, Any], folder: Path, broker: str) -> dict[str, Any]:
    """The same config for a copy that lies in a folder, on one SQLite file."""
    run = {**tables.get("run", {}), "directory": str(folder), "broker": broker}
    topics = {"topics": _without_copies(tables["topics"])} if "topics" in tables else {}
    return {**tables, **topics, "run": run}


def _without_copies(topics: Mapping[str, Any]) -> dict[str, Any]:
    """Without numbers of copies: a file is the only one."""
    return {
        name: _without_copies(value) if isinstance(value, Mapping) else value
        for name, value in topics.items()
        if name != "replication"
    }


def toml(tables: Mapping[str, Any]) -> str:
    """As a TOML file: a table for each section, what lies deeper in line."""
    plain = {name: value for name, value in tables.items() if not isinstance(value, Mapping)}
    parts = [_lines(plain)] if plain else []
    parts += [f"[{_key(n)}]\n{_lines(value)}" for n, value in tables.items() if isinstance(value, Mapping)]
    return "\n".join(parts)


def _shareable(value: Any, place: str, left_out: list[str]) -> Any:
    if isinstance(value, dict):
        kept: dict[str, Any] = {}
        for name, inner in value.items():
            inner_place = f"{place}.{name}" if place else name
            if _SECRET.search(_snake(name)) and not isinstance(inner, bool | int | float):
                left_out.append(inner_place)
            else:
                kept[name] = _shareable(inner, inner_place, left_out)
        return kept
    if isinstance(value, list):
        return [_shareable(inner, place, left_out) for inner in value]
    return _without_credentials(value, place, left_out) if isinstance(value, str) else value


def _snake(name: str) -> str:
    """apiKey is api_key."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _without_credentials(text: str, place: str, left_out: list[str]) -> str:
    """A URL may carry a user, a password and options."""
    if "://" not in text:
        return text
    bare = re.sub(r"\?\S*", "", re.sub(r"(?<=://)[^/@\s]*@", "", text))
    if bare != text:
        left_out.append(f"{place} (in part)")
    return bare


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{_key(name)} = {_value(value)}\n" for name, value in table.items())


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case int() | float():
            return repr(value)
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            inner = ", ".join(f"{_key(name)} = {_value(inner)}" for name, inner in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case date() | time():
            return value.isoformat()
        case _:
            raise ArchiveError(f"its config holds {value!r}, which no config can say")


def _text(text: str) -> str:
    """JSON's strings are TOML's, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

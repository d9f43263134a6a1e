"""A run's config as it travels with an archive: without what is nobody else's business."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from consumers.archive.manifest import ArchiveError

_SECRET = re.compile(
    r"(?:^|[_-])(?:api_?key|key|token|secret|password|passwd|passphrase|pwd|credentials?|auth|authorization|bearer"
    r"|cookies?|headers?)$"
)
"""Names of settings into which somebody may have put a secret. What ends in `_env` only names a variable."""


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
    """As a TOML file. Raises ArchiveError for what no config can say."""
    import tomli_w

    try:
        return tomli_w.dumps(tables)
    except TypeError as error:
        raise ArchiveError(f"its config cannot be: {error}") from error


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

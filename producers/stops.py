"""Which tokens end a completion, as a model's directory says it."""

import json
from pathlib import Path
from typing import Any

from mentor_stream.snapshots import SnapshotError


def stop_ids(path: Path) -> list[int]:
    """All of them, by the generation config, else by the model's own. Raises SnapshotError."""
    generation = path / "generation_config.json"
    found = read(generation if generation.exists() else path / "config.json").get("eos_token_id")
    ids = [] if found is None else found if isinstance(found, list) else [found]
    if not all(type(each) is int and each >= 0 for each in ids):
        raise SnapshotError(f"{path}: its eos_token_id is {found!r}, expected token ids")
    return ids


def read(path: Path) -> dict[str, Any]:
    """A model's JSON file. Raises SnapshotError."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise SnapshotError(f"{path} could not be read: {error}") from error
    if not isinstance(found, dict):
        raise SnapshotError(f"{path} holds no object with settings")
    return found

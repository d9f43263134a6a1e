"""What `mentor-stream export` and `import` do, as they find it by entry point (mentor_stream/tools.py)."""

from functools import partial
from pathlib import Path
from typing import Any

import anyio

from consumers.archive import exporting, importing, naming, restored
from consumers.archive.exporting import Export, Progress
from mentor_stream import disk


def url(path: Path) -> str:
    """The stream in a file that is to be written. Raises ConfigError for what can be none."""
    naming.check(path)
    disk.check_file("TO", path)
    return restored.url(path)


def export(progress: Progress, **request: Any) -> dict[str, Any]:
    """Write the file, and return what `--json` prints. Raises ConfigError, ArchiveError, BrokerError."""
    naming.check(request["path"])
    return anyio.run(exporting.export, Export(**request), progress, backend="trio")


def restore(progress: Progress, path: Path, url: str, run: str | None) -> dict[str, Any]:
    """Put the archive into a stream, by default under the run's own name. Raises as `export`."""
    naming.check(path)
    return anyio.run(partial(importing.restore, progress, path, url, run), backend="trio")


def verify(progress: Progress, path: Path) -> dict[str, Any]:
    """Whether the archive is as it was written: what it holds, or ArchiveError."""
    naming.check(path)
    return anyio.run(partial(importing.verify, progress, path), backend="trio")


def restore_home(progress: Progress, path: Path, folder: Path) -> dict[str, Any]:
    """Put the archive into a folder, as a run of its own. Raises as `export`."""
    naming.check(path)
    naming.check(folder)
    return anyio.run(partial(importing.restore_home, progress, path, folder), backend="trio")

"""What `mentor-stream eval` does, as it finds it by entry point (mentor_stream/tools.py)."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from mentor_stream.config import ConfigError
from producers.evaluation import report, results, suite
from producers.evaluation.examination import Request, examine

Progress = Callable[[str, int, int], None]
"""Told, for each suite, how many of how many questions have been asked."""


def suites() -> dict[str, dict[str, Any]]:
    """The suites that are known, by name, as their files have them."""
    return {name: one.model_dump(mode="json") for name, one in suite.known().items()}


def evaluate(
    names: Sequence[str], options: Mapping[str, Any], out: Path, against: Path | None, progress: Progress,
    *, engine: str, **request: Any,
) -> dict[str, Any]:  # fmt: skip
    """Ask a model the questions of suites: the document that `--json` prints.

    `options` replace what suites say of sampling, the rest is a Request. Raises ConfigError, SnapshotError.
    """
    chosen = suite.chosen(names)
    asking = Request(engine=_table(engine), **request)
    if asking.questions_at and len(chosen) > 1:
        raise ConfigError(
            f"--data is {asking.questions_at!r}: it is for one suite, and --suite names {len(chosen)}."
        )
    found: dict[str, Any] = {}
    for name, one in chosen.items():
        changed = suite.changed(one, options)
        other = results.read(against / f"{name}.jsonl")[1] if against else None
        work = partial(examine, asking, name, changed, out, partial(progress, one.title))
        asked = anyio.run(work, backend="trio")
        found[name] = {"title": one.title, **report.figures(asked, changed.samples)}
        if other is not None:
            found[name]["against"] = report.comparison(name, asked, other)
    return {"model": str(asking.model), "out": str(out), "against": against and str(against), "suites": found}


def _table(engine: str) -> dict[str, Any]:
    """`--engine`: a kind, or a table as a run's file has it. Raises ConfigError."""
    if not engine.lstrip().startswith("{"):
        return {"kind": engine}
    try:
        table: dict[str, Any] = tomllib.loads(f"engine = {engine}")["engine"]
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"--engine is {engine!r}: {error}. Give a kind, or a table such as '{{kind = \"vllm\"}}'."
        ) from error
    return table

"""What `mentor-stream eval` does, as it finds it by entry point (mentor_stream/tools.py)."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio

from mentor_stream import disk
from mentor_stream.config import ConfigError
from producers.evaluation import report, results, suite
from producers.evaluation.examination import Progress, examine
from producers.evaluation.paper import Request, papers
from producers.examiner import engine_table


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
    asking = Request(engine=engine_table(engine), **request)
    if asking.questions_at and len(chosen) > 1:
        raise ConfigError(
            f"--data is {asking.questions_at!r}: it is for one suite, and --suite names {len(chosen)}."
        )
    others = {name: results.read(against / f"{name}.jsonl")[1] for name in chosen} if against else {}
    changed = {name: suite.changed(one, options) for name, one in chosen.items()}
    disk.check_folder("--out", out)
    with ExitStack() as stack:
        filled = papers(asking, changed, out)
        for paper in filled:
            stack.callback(paper.kept.close)
        anyio.run(examine, asking, filled, progress, backend="trio")
    found = {
        paper.name: {"title": paper.suite.title, **report.figures(paper.asked, paper.suite.samples)}
        for paper in filled
    }
    for paper in filled if against else ():
        found[paper.name]["against"] = report.comparison(paper.name, paper.asked, others[paper.name])
    return {"model": str(asking.model), "out": str(out), "against": against and str(against), "suites": found}

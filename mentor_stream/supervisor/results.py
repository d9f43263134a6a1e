"""What a finished run leaves in its directory: the model, the metrics, the curves and a summary."""

import json
import shutil
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import anyio.to_thread

import schemas
from mentor_stream import releases, snapshots
from mentor_stream.config import Config, RunConfig
from mentor_stream.stream import Stream
from mentor_stream.supervisor import curves, history
from mentor_stream.supervisor.history import History

MODEL = "model"
METRICS = "metrics.jsonl"
CURVES = "curves.png"
SUMMARY = "summary.json"


@dataclass(frozen=True)
class Summary:
    """A run in numbers."""

    run: str
    policy_version: int
    """The final one."""
    accuracy_before: float | None
    """Held-out accuracy of policy version 0, without hints."""
    accuracy_after: float | None
    """The same of the newest version evaluated."""
    evaluated_version: int | None
    """Which version that was: the final one, unless its evaluation failed."""
    heldout_questions: int | None
    tokens: int
    """Completion tokens generated, guided ones included."""
    groups: int
    """Groups that reached the trainer, plain and guided, repeats once: rollout workers may sample more."""
    collapsed: int
    """Plain groups that collapsed."""
    guided: int
    """Guided groups that came back: lessons that were tried."""
    rescued: int
    """Guided groups that did not collapse."""
    stale: int
    """Groups that came too late to be trained on."""
    minutes: float
    """Time at work, pauses left out."""
    max_versions: int | None = None
    """run.max_versions, when it ended."""
    max_tokens: int | None = None
    """run.max_tokens, when it ended."""

    @property
    def rescue_rate(self) -> float | None:
        """Share of the guided groups that did not collapse."""
        return self.rescued / self.guided if self.guided else None

    def goes_on(self, run: RunConfig) -> bool:
        """Whether the run's end has been moved since, to behind what it came to."""
        moved = (run.max_versions, run.max_tokens) != (self.max_versions, self.max_tokens)
        trained = run.max_versions is not None and self.policy_version >= run.max_versions
        return moved and not trained and (run.max_tokens is None or self.tokens < run.max_tokens)


async def write(stream: Stream, config: Config, release: schemas.PolicyRelease) -> Summary:
    """Write everything, replacing what an earlier call wrote. Raises SnapshotError, BrokerError, OSError."""
    directory = config.run.directory
    past = await history.read(stream)
    end = {"max_versions": config.run.max_versions, "max_tokens": config.run.max_tokens}
    summary = replace(summarise(config.run.name, release, past), **end)
    await history.write_jsonl(stream, past, directory / METRICS)
    await anyio.to_thread.run_sync(partial(curves.draw, past, config.run.name, directory / CURVES))
    async with releases.snapshot(release) as place:
        await anyio.to_thread.run_sync(copy_model, place, release.digest, directory / MODEL)
    # Last: a summary says that all the rest is there.
    (directory / SUMMARY).write_text(json.dumps(asdict(summary), indent=2) + "\n")
    return summary


def read(config: Config) -> Summary | None:
    """The summary that an earlier `up` of this run wrote, if any."""
    path = config.run.directory / SUMMARY
    if not path.exists():
        return None
    summary = Summary(**json.loads(path.read_text()))
    return summary if summary.run == config.run.name else None


def summarise(run: str, release: schemas.PolicyRelease, past: History) -> Summary:
    """The run in numbers, from its final release and its metrics."""
    consumed = release.consumed
    evaluations = past.evaluations
    newest = max(evaluations, default=None)
    return Summary(
        run=run,
        policy_version=release.policy_version,
        accuracy_before=evaluations[0].values.get("heldout_accuracy") if 0 in evaluations else None,
        accuracy_after=None if newest is None else evaluations[newest].values.get("heldout_accuracy"),
        evaluated_version=newest,
        heldout_questions=_questions(past),
        tokens=consumed.tokens,
        groups=consumed.resolved + consumed.guided,
        collapsed=consumed.collapsed,
        guided=consumed.guided,
        rescued=consumed.rescued,
        stale=consumed.stale,
        minutes=round(past.seconds / 60, 2),
    )


def _questions(past: History) -> int | None:
    asked = [
        m.values["heldout_questions"] for m in past.evaluations.values() if "heldout_questions" in m.values
    ]
    return int(asked[-1]) if asked else None


def copy_model(snapshot: Path, digest: str, target: Path) -> None:
    """Copy a snapshot, checked, to `target` as a plain Hugging Face directory. Raises SnapshotError."""
    snapshots.verify(snapshot, digest)
    draft = target.with_name(f".{target.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(snapshot, draft, ignore=shutil.ignore_patterns(snapshots.MANIFEST))
    shutil.rmtree(target, ignore_errors=True)
    draft.rename(target)

"""What is said of a retraining: a line for each version, beside what the run had told, and how it ended."""

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mentor_stream import disk
from trainer.learning.steps import Step

SHOWN = ("grad_norm", "ratio_mean", "clip_fraction", "logprob_gap_mean")


@dataclass
class Told:
    """Prints, and keeps the same as JSON lines in a file."""

    path: Path
    recorded: Mapping[int, float]
    """The loss of each version, as the run told it."""
    as_json: bool
    same: int = 0
    first_difference: dict[str, Any] | None = None
    """The first version whose loss is another than recorded."""
    trained: int = field(default=0, init=False)
    """Versions told so far: fewer than the last one's number after a checkpoint."""

    def stepped(self, version: int, groups: int, step: Step | None) -> None:
        """A batch led to this version; one without anything to learn from has no step.

        Raises ConfigError where the file cannot be written.
        """
        self.trained += 1
        document = {"version": version, "groups": groups, **_values(step)}
        loss, before = document.get("loss"), self.recorded.get(version)
        document["recorded_loss"] = before
        if before is not None and loss is not None:
            if loss == before:
                self.same += 1
            elif self.first_difference is None:
                self.first_difference = {"version": version, "loss": loss, "recorded_loss": before}
        with disk.writing("--to", self.path.parent), self.path.open("a") as file:
            file.write(json.dumps(document) + "\n")
        self._say(json.dumps(document) if self.as_json else _line(document))

    def ended(self, version: int, unreadable: int, policy: Path) -> None:
        """That was the last one."""
        document = {
            "versions": version,
            "trained": self.trained,
            "same": self.same,
            "first_difference": self.first_difference,
            "unreadable": unreadable,
            "policy": str(policy),
        }
        self._say(json.dumps(document) if self.as_json else self._verdict(version, policy))

    def _verdict(self, version: int, policy: Path) -> str:
        if not self.trained:
            return f"0 versions; the recorded groups make no batch more. The policy is {policy}, as it was."
        found = self.first_difference
        if found:
            compared = (
                f"the first loss that differs is version {found['version']}'s: {found['loss']!r}, recorded "
                f"{found['recorded_loss']!r}"
            )
        elif self.same:
            compared = f"{self.same} losses are those recorded, to the bit"
        else:
            compared = "no loss was recorded to compare with"
        trained = f"{self.trained} version{'s' * (self.trained != 1)}"
        if self.trained and version != self.trained:
            trained += f", {version - self.trained + 1} to {version}"
        return f"{trained}; {compared}. The policy is {policy}."

    def _say(self, line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def _values(step: Step | None) -> dict[str, float]:
    values = {} if step is None else asdict(step)
    return {
        name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)
    }


def _line(document: Mapping[str, Any]) -> str:
    if "loss" not in document:
        return f"version {document['version']}: nothing to learn from"
    before = document["recorded_loss"]
    beside = (
        "" if before is None else " as recorded" if before == document["loss"] else f" recorded {before:.9g}"
    )
    others = " ".join(f"{name} {document[name]:.4g}" for name in SHOWN if name in document)
    return f"version {document['version']}: loss {document['loss']:.9g}{beside}, {others}"

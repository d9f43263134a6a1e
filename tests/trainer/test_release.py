"""What is said of a policy, beside the process (test_process.py, test_uploads.py)."""

from pathlib import Path
from typing import Any

import pytest

from schemas import Consumed, PolicyRelease
from trainer import release
from trainer.release import Releases


class Said:
    """A stream that keeps what is published."""

    def __init__(self) -> None:
        self.releases: list[PolicyRelease] = []

    def publish(self, _: Any, record: PolicyRelease) -> None:
        self.releases.append(record)


@pytest.fixture
def said() -> Said:
    return Said()


@pytest.fixture
def releases(tmp_path: Path, said: Any) -> Releases:
    return Releases(tmp_path, said, keep=2)


def nothing(_: Path) -> None: ...


def test_a_clock_that_is_set_back_keeps_no_counters_from_the_feeder(
    releases: Releases, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    releases.publish(1, 1, Consumed(), nothing)
    before = said.releases[0].published_at
    monkeypatch.setattr(release, "REFRESH_SECONDS", 0.0)
    monkeypatch.setattr(release.time, "time", lambda: before - 3600.0)
    releases.refresh(Consumed(resolved=5))
    assert [(r.policy_version, r.consumed.resolved) for r in said.releases] == [(1, 0), (1, 5)]

"""Verifiers that run programs, where programs can be run, and what they say."""

import shutil
from functools import cache
from typing import Any

import pytest

import schemas
from producers.rewards.base import Judgement, Reward, Unscorable
from producers.rewards.code import Config, build
from schemas import Verdict

needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="bubblewrap is not installed: apt-get install bubblewrap"
)


@cache
def _built(options: tuple[tuple[str, Any], ...]) -> Reward:
    return build(Config(**dict(options)))


def verifier(**options: Any) -> Reward:
    """The one with these options."""
    return _built(tuple(sorted(options.items())))


def judged(reward: Reward, query: schemas.Query, completion: str) -> tuple[Verdict, Judgement | str]:
    """The verdict as a judge would have it, and what the verifier said."""
    try:
        found = reward.score(query, completion)
    except Unscorable as error:
        return Verdict.UNSCORABLE, str(error)
    return (Verdict.RIGHT if found.right else Verdict.WRONG), found

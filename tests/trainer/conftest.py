"""Tiny random policies as Hugging Face directories."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainer.policies import write_policy
from trainer.model import cpu

cpu.install()


@pytest.fixture(scope="session")
def policy_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes a tiny policy of a family, once each."""
    made: dict[tuple[str, bool], Path] = {}

    def policy(family: str = "llama", *, tied: bool = False) -> Path:
        key = family, tied
        if key not in made:
            made[key] = write_policy(tmp_path_factory.mktemp(family), family, tied=tied)
        return made[key]

    return policy


@pytest.fixture(
    params=[("llama", False), ("llama", True), ("llama3", False), ("qwen2", False), ("qwen3", False)],
    ids=["llama", "tied", "llama3", "qwen2", "qwen3"],
)
def policy(request: pytest.FixtureRequest, policy_of: Callable[..., Path]) -> Path:
    """One of every kind that the trainer reads and writes."""
    family, tied = request.param
    return policy_of(family, tied=tied)

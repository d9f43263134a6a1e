"""A run on trio, as the components are."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mentor_stream import stream
from mentor_stream.stream import Stream
from tests.runs import url


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Stream]:
    async with stream.connect(url(tmp_path), "run", "rollout") as connected:
        yield connected

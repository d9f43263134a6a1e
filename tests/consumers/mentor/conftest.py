"""The stream that a mentor and its test share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mentor_stream.stream import Stream, connect


@pytest.fixture
async def stream(tmp_path: Path) -> AsyncIterator[Stream]:
    async with connect(f"sqlite:///{tmp_path}/stream.db?lease=1", "test", "test") as stream:
        yield stream

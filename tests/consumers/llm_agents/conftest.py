"""The language model: a real HTTP server that behaves and misbehaves as it is told."""

from collections.abc import Iterator

import pytest

from tests.endpoint import Endpoint


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        yield server

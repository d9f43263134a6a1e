"""System tests run on trio, as the components do."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "trio"

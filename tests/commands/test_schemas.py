"""The records, as whoever else reads the stream sees them."""

import json

from tests.runs import as_process


def test_the_schemas_are_exported_as_json() -> None:
    exported = json.loads(as_process("schemas", "--json").stdout)
    assert "group" in exported["records"]

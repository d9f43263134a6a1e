"""Who is let in."""

import pytest

from consumers.monitor.gate import is_ours


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8765",
        "127.0.0.1:1",
        "10.1.2.3",
        "[::1]",
        "[::1]:8765",
        "Box:80",
        "box.",
        "LOCALHOST:1",
        "localhost:",
    ],
)
def test_addresses_localhost_and_our_own_names_are_answered(host: str):
    assert is_ours(host, {"box"})


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:8765", "localhost.evil.example",
     "127.0.0.1.evil.example", "[::1",
     "[::1]x", "localhost:x", "127.0.0.1:8765@evil.example", "box2",
     "a:b:c", "127.0.0.1 ", "localhost:٣"],
)  # fmt: skip
def test_any_other_name_is_refused(host: str):
    assert not is_ours(host, {"box"})

"""Foreign bytes on a terminal."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import schemas
from mentor_stream import legible
from tests.builders import a_group

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(0, 9), inner),
    max_leaves=30,
)


@given(st.binary(max_size=2_000) | values.map(msgspec.msgpack.encode))
def test_whatever_the_bytes_are_a_view_is_printable_ascii(data: bytes) -> None:
    assert all(c.isascii() and (c.isprintable() or c == "\n") for c in legible.view(data))


@given(values)
def test_what_message_pack_holds_becomes_json_that_any_parser_reads(value: object) -> None:
    json.dumps(legible.structure(msgspec.msgpack.encode(value)), allow_nan=False)


@given(st.text())
def test_a_line_is_one_line_of_printable_text(text: str) -> None:
    shown = legible.line(text)
    assert shown.isprintable()
    assert text != shown or text.isprintable()


def test_a_record_is_shown_with_its_arrays_as_numbers() -> None:
    shown = legible.structure(schemas.encode(a_group("WR")))
    assert shown["trajectories"][0]["completion_ids"] == "3 x int32: 7 8 2"
    assert shown["trajectories"][0]["logprobs"] == "3 x float32: -0.5 -0.5 -0.5"


@pytest.mark.parametrize(
    "value",
    ["x" * 5_000_000, list(range(500_000)), {f"{n}": n for n in range(300_000)}, bytes(4_000_000)],
    ids=["text", "list", "map", "bytes"],
)
def test_what_is_endless_is_cut(value: object) -> None:
    assert len(legible.view(msgspec.msgpack.encode(value))) < 4_000
    assert "more" in legible.view(msgspec.msgpack.encode(value)) or isinstance(value, bytes)


def test_what_is_deep_is_cut() -> None:
    assert legible.view(b"\x91" * 200 + b"\xc0").count("[") == legible.MAX_DEPTH
    assert "and 99,744 more bytes" in legible.view(b"\x91" * 100_000)


def test_values_too_large_to_decode_are_shown_as_bytes() -> None:
    count = legible.MAX_DECODED
    assert legible.view(b"\xdd" + count.to_bytes(4, "big") + b"\x90" * count).startswith(
        "0000  dd 00 80 00 00 90"
    )


def test_bytes_that_are_no_message_pack_are_dumped() -> None:
    assert legible.view(b"\xc1 plain") == "0000  c1 20 70 6c 61 69 6e" + " " * 29 + ". plain"

"""What the two ends say to each other, and what of strangers' words is refused."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.weights import address, messages
from mentor_stream.weights.messages import BUCKET_BYTES, Ask, File, Garbled, Offer, Piece, Refusal

ASK = Ask(id="0" * 32, digest="a" * 64, backend="nccl", ranks=4, address="10.0.0.7", seconds=30.0)


def header(*offsets: tuple[int, int], dtype: str = "F32", shape: tuple[int, ...] = (2, 3)) -> bytes:
    entries: dict[str, Any] = {
        str(n): {"dtype": dtype, "shape": shape, "data_offsets": place} for n, place in enumerate(offsets)
    }
    return json.dumps({"__metadata__": {"format": "pt"}} | entries).encode()


def test_what_is_said_is_what_is_heard() -> None:
    assert messages.read_ask(messages.write(ASK)) == ASK
    offer = Offer(config={"a": 1}, files=(File((Piece("w", "BF16", (2, 3)), Piece("s", "F32", ()))),))
    for answer in (offer, Refusal("no", gone=True)):
        assert messages.read_answer(messages.write(answer)) == answer


@given(st.binary() | st.text().map(str.encode))
def test_strangers_are_refused(data: bytes) -> None:
    for read in (messages.read_ask, messages.read_answer, messages.read_header):
        with pytest.raises(Garbled):
            read(data) if data.strip() != b"{}" else read(b"")


@pytest.mark.parametrize(
    "change",
    [
        {"id": "../asks"},
        {"digest": "a" * 63},
        {"backend": "mpi"},
        {"ranks": -1},
        {"ranks": 10**6},
        {"ranks": "4"},
        {"address": "example.org"},
        {"address": "10.0.0.7; x"},
        {"seconds": 0},
        {"seconds": 1e9},
    ],
)
def test_an_ask_that_leads_elsewhere_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(Garbled):
        messages.read_ask(json.dumps(msgspec.to_builtins(ASK) | change).encode())


def test_tensors_of_a_file_are_known_in_the_order_of_their_bytes() -> None:
    file = messages.read_header(header((24, 48), (0, 24)))
    assert [piece.name for piece in file.pieces] == ["1", "0"]
    assert (file.pieces[0].size, file.size) == (24, 48)
    assert messages.read_header(header()).size == 0


@pytest.mark.parametrize(
    "wrong",
    [
        header((0, 24), (25, 49)),
        header((0, 24), (12, 36)),
        header((0, 20)),
        header((4, 28)),
        header((0, 24), dtype="F4"),
        header((0, 24), shape=(-2, -3)),
    ],
)
def test_a_file_with_gaps_overlaps_or_wrong_sizes_is_not_sent(wrong: bytes) -> None:
    with pytest.raises(Garbled):
        messages.read_header(wrong)


@pytest.mark.parametrize(
    "pieces", [[Piece("a", "F32", (1,)), Piece("a", "F32", (1,))], [Piece("a", "OBJECT", (1,))]]
)
def test_an_offer_of_what_cannot_be_is_refused(pieces: list[Piece]) -> None:
    with pytest.raises(Garbled):
        messages.read_answer(messages.write(Offer(config={}, files=(File(tuple(pieces)),))))


@given(st.lists(st.integers(0, 3 * BUCKET_BYTES), max_size=5))
def test_buckets_are_all_bytes_of_each_file_and_none_is_empty_or_too_large(sizes: list[int]) -> None:
    offer = Offer(config={}, files=tuple(File((Piece(str(n), "U8", (s,)),)) for n, s in enumerate(sizes)))
    buckets = list(offer.buckets())
    assert sum(buckets) == offer.size == sum(sizes)
    assert all(0 < bucket <= BUCKET_BYTES for bucket in buckets)
    assert len(buckets) == sum(-(-size // BUCKET_BYTES) for size in sizes)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("trainer:29600", ("trainer", 29600)),
        ("run-trainer-0.run-trainer:1", ("run-trainer-0.run-trainer", 1)),
        ("127.0.0.1:65535", ("127.0.0.1", 65535)),
        ("[::1]:29600", ("::1", 29600)),
    ],
)
def test_an_address_is_host_and_port(text: str, parts: tuple[str, int]) -> None:
    assert address.split(text) == parts


@pytest.mark.parametrize(
    "text", ["", "trainer", "trainer:", ":1", "trainer:0", "trainer:65536", "a b:1", "tcp://a:1"]
)
def test_what_is_no_address_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(ValueError, match="expected host:port"):
        address.split(text)


def test_a_machine_knows_its_own_address_on_the_way_to_another() -> None:
    assert address.own("127.0.0.1") == "127.0.0.1"
    assert address.own("localhost") in ("127.0.0.1", "::1")

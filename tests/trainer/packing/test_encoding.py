import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from trainer.packing.encoding import decode, encode
from trainer.packing.rows import Row
from trainer.packing.shares import Part, Share

IDS = st.integers(0, 2**31 - 1)
NUMBERS = st.floats(allow_nan=False)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    prompt, completion = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    return Row(
        prompt_ids=draw(arrays.arrays("<i4", prompt, elements=IDS)),
        completion_ids=draw(arrays.arrays("<i4", completion, elements=IDS)),
        logprobs=draw(arrays.arrays("<f4", completion)),
        temperature=draw(NUMBERS),
        advantage=draw(NUMBERS),
        weight=draw(NUMBERS),
        as_sampled=draw(st.booleans()),
        truncated=draw(st.booleans()),
    )


PARTS = st.builds(Part, st.lists(st.lists(rows(), max_size=3), max_size=3), st.integers(0, 2**40))
SHARES = st.builds(Share, st.lists(PARTS, max_size=3), st.integers(0, 9), st.integers(0, 9))


def bits(row: Row) -> tuple[object, ...]:
    """All that is in a row."""
    return tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in vars(row).values())


@given(SHARES)
def test_what_is_decoded_is_what_was_encoded_to_the_bit(share: Share) -> None:
    again = decode(encode(share))
    assert (again.dropped, again.truncated) == (share.dropped, share.truncated)
    assert [part.filled for part in again.parts] == [part.filled for part in share.parts]
    for ours, theirs in zip(share.parts, again.parts, strict=True):
        assert [list(map(bits, pack)) for pack in theirs.packs] == [list(map(bits, p)) for p in ours.packs]


def test_a_row_takes_eight_bytes_a_token_and_a_little() -> None:
    ids = np.zeros(1000, "<i4")
    row = Row(ids, ids, ids.astype("<f4"), 1.0, -0.25, 1 / 3, as_sampled=True)
    share = Share([Part([[row] * 16], 16 * row.tokens)], 0, 0)
    assert len(encode(share)) < 16 * (12 * 1000 + 50)


def test_rows_that_lie_in_another_order_of_bytes_are_the_same_rows() -> None:
    ids, logprobs = np.arange(3, dtype=">i4"), np.linspace(-1, 0, 3, dtype=">f4")
    [[row]] = decode(encode(Share([Part([[Row(ids, ids, logprobs, 1, 1, 1)]], 5)], 0, 0))).parts[0].packs
    assert (row.prompt_ids.tolist(), row.logprobs.tolist()) == (ids.tolist(), logprobs.tolist())

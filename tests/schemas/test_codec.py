"""The wire format: bytes that must not move, and what happens to bytes that are not ours."""

import contextlib
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import schemas
from tests.builders import a_group, a_record_of_each_kind

GOLDEN = Path(__file__).parent / "golden"
KINDS = sorted(schemas.RECORDS)


def as_map(record: schemas.Record) -> dict[str, Any]:
    return msgpack.unpackb(schemas.encode(record))


@pytest.mark.parametrize("kind", KINDS)
def test_the_bytes_of_a_record_do_not_move(kind: str) -> None:
    golden = (GOLDEN / f"{kind}.msgpack").read_bytes()
    assert schemas.encode(a_record_of_each_kind()[kind]) == golden


@pytest.mark.parametrize("kind", KINDS)
def test_a_golden_record_reads_back_equal(kind: str) -> None:
    golden = (GOLDEN / f"{kind}.msgpack").read_bytes()
    assert schemas.decode(golden, schemas.RECORDS[kind]) == a_record_of_each_kind()[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_any_messagepack_reader_sees_a_map_with_schema_and_version_first(kind: str) -> None:
    version = schemas.RECORDS[kind].VERSION
    assert list(as_map(a_record_of_each_kind()[kind]).items())[:2] == [("schema", kind), ("version", version)]


def test_a_diagnosis_of_version_1_reads_as_one_that_cost_nothing() -> None:
    golden = (GOLDEN / "diagnosis.1.msgpack").read_bytes()
    old, new = schemas.decode(golden, schemas.Diagnosis), a_record_of_each_kind()["diagnosis"]
    assert isinstance(new, schemas.Diagnosis)
    assert old.version == 1
    calls = tuple(msgspec.structs.replace(call, cost=0.0) for call in new.calls)
    assert old == msgspec.structs.replace(new, version=1, cost=0.0, calls=calls)


@pytest.mark.parametrize("kind", KINDS)
def test_every_prefix_of_a_record_is_refused_as_truncated(kind: str) -> None:
    data = schemas.encode(a_record_of_each_kind()[kind])
    for length in range(len(data)):
        with pytest.raises(schemas.TruncatedRecord):
            schemas.decode(data[:length], schemas.RECORDS[kind])


@given(st.binary(max_size=200))
def test_random_bytes_raise_nothing_but_a_record_error(data: bytes) -> None:
    for kind in schemas.RECORDS.values():
        with pytest.raises(schemas.RecordError):
            schemas.decode(data, kind)


@given(st.data())
def test_a_record_with_damaged_bytes_is_read_or_refused_but_never_crashes(data: st.DataObject) -> None:
    good = bytearray(schemas.encode(a_group("WR")))
    at = data.draw(st.integers(0, len(good) - 1))
    good[at] = data.draw(st.integers(0, 255))
    with contextlib.suppress(schemas.RecordError):
        schemas.decode(bytes(good), schemas.Group)


def test_a_record_of_a_newer_version_is_refused_as_such() -> None:
    data = msgpack.packb({**as_map(a_group()), "version": 2, "a_field_of_the_future": 1})
    with pytest.raises(schemas.NewerRecord, match="record group: version 2, this reader knows 1"):
        schemas.decode(data, schemas.Group)


def test_another_record_than_expected_is_foreign_and_named() -> None:
    with pytest.raises(schemas.ForeignRecord, match="record query: expected a record group"):
        schemas.decode(schemas.encode(a_record_of_each_kind()["query"]), schemas.Group)


def test_deeply_nested_bytes_are_foreign() -> None:
    with pytest.raises(schemas.RecordError):
        schemas.decode(b"\x81\xa1a" * 100_000, schemas.Group)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"group_id": 3}, "group_id"),
        ({"trajectories": "none"}, "trajectories"),
        ({"sampling": {"temperature": "hot"}}, "sampling.temperature"),
        ({"version": 0}, "version"),
    ],
)
def test_an_invalid_field_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(schemas.InvalidRecord) as caught:
        schemas.decode(msgpack.packb({**as_map(a_group()), **change}), schemas.Group)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reward": None}, "verdict wrong with reward None"),
        ({"reward": float("nan")}, "reward nan"),
        ({"logprobs": ["float32", b"\0" * 4]}, "1 log-probs for 3 tokens"),
        ({"logprobs": ["float32", b"\0" * 3]}, "3 bytes are no whole number of float32"),
        ({"logprobs": ["float64", b"\0" * 12]}, "float64"),
        ({"policy": [{"policy_version": 0, "count": 2}]}, "do not cover the 3 tokens"),
        ({"policy": [{"policy_version": 0, "count": 3}, {"policy_version": 1, "count": 0}]}, "cover"),
        ({"policy": [{"policy_version": 0, "count": 4}, {"policy_version": 1, "count": -1}]}, "count"),
        ({"policy": [{"policy_version": -1, "count": 3}]}, "policy_version"),
        ({"policy": [{"policy_version": 2**62, "count": 3}]}, "policy_version"),
        ({"verdict": "maybe"}, "maybe"),
    ],
)
def test_a_trajectory_that_contradicts_itself_is_refused(change: dict[str, Any], words: str) -> None:
    group = as_map(a_group("WR"))
    group["trajectories"][0].update(change)
    with pytest.raises(schemas.InvalidRecord, match=words):
        schemas.decode(msgpack.packb(group), schemas.Group)


def test_an_unknown_field_of_this_version_is_refused() -> None:
    with pytest.raises(schemas.InvalidRecord, match="unknown field `surprise`"):
        schemas.decode(msgpack.packb({**as_map(a_group()), "surprise": 1}), schemas.Group)


def test_a_record_over_the_limit_is_refused_on_both_sides() -> None:
    group = a_group()
    size = len(schemas.encode(group))
    with pytest.raises(schemas.OversizedRecord, match=f"record group: {size} bytes, 10 allowed"):
        schemas.encode(group, max_bytes=10)
    with pytest.raises(schemas.OversizedRecord):
        schemas.decode(schemas.encode(group), schemas.Group, max_bytes=size - 1)
    assert schemas.decode(schemas.encode(group), schemas.Group, max_bytes=size) == group


def test_text_that_utf8_cannot_hold_is_refused_by_name() -> None:
    broken = msgspec.structs.replace(a_record_of_each_kind()["query"], question="\ud800")
    with pytest.raises(schemas.InvalidRecord, match="record query"):
        schemas.encode(broken)


@given(st.lists(st.integers(-(2**31), 2**31 - 1)))
def test_token_ids_survive_the_wire(values: list[int]) -> None:
    assert schemas.ids(values).numpy().tolist() == values


def test_a_token_id_over_32_bits_is_refused() -> None:
    with pytest.raises(OverflowError):
        schemas.ids([2**31])


@given(st.lists(st.floats(width=32, allow_nan=False)))
def test_logprobs_survive_the_wire_bit_for_bit(values: list[float]) -> None:
    assert np.array_equal(schemas.floats(values).numpy(), np.asarray(values, dtype=np.float32))


def test_json_schema_covers_every_record_and_every_reference_resolves() -> None:
    exported = schemas.json_schemas()
    assert sorted(exported["records"]) == KINDS
    text = msgspec.json.encode(exported).decode()
    names = {part.split('"')[0] for part in text.split("#/$defs/")[1:]}
    assert names <= set(exported["$defs"])

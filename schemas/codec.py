"""Records to bytes and back: MessagePack maps, validated while they are read.

msgspec reads MessagePack straight into the typed records, so validation costs nothing on top of
parsing. Whatever is wrong with foreign bytes comes out as one of the RecordErrors below.
"""

from typing import Any, TypeVar

import msgspec

from schemas.dead_letter import DeadLetter
from schemas.diagnosis import Diagnosis
from schemas.group import Group
from schemas.metric import Metric
from schemas.policy_release import PolicyRelease
from schemas.query import Query
from schemas.record import Record

R = TypeVar("R", bound=Record)


def _name(kind: type[Record]) -> str:
    """What the kind is called on the stream."""
    return str(kind.__struct_config__.tag)


RECORDS: dict[str, type[Record]] = {
    _name(kind): kind for kind in (Query, Group, Diagnosis, PolicyRelease, Metric, DeadLetter)
}


class RecordError(ValueError):
    """Bytes that are not a record we can read. `schema` and `field` are as far as they were readable."""

    def __init__(self, reason: str, *, schema: str = "unknown", field: str = "") -> None:
        where = f"record {schema}" + (f", field {field}" if field else "")
        super().__init__(f"{where}: {reason}")
        self.schema, self.field, self.reason = schema, field, reason


class TruncatedRecord(RecordError):
    """The bytes end before the record does."""


class ForeignRecord(RecordError):
    """The bytes are no map with a schema and a version of ours."""


class NewerRecord(RecordError):
    """Written by a newer version of the system."""


class InvalidRecord(RecordError):
    """A field is missing, unknown, of the wrong type or out of range."""


class OversizedRecord(RecordError):
    """More bytes than the topic allows."""


class _Header(msgspec.Struct):
    schema: str
    version: int


_encoder = msgspec.msgpack.Encoder()
_header = msgspec.msgpack.Decoder(_Header)
_decoders: dict[type[Record], msgspec.msgpack.Decoder[Any]] = {
    kind: msgspec.msgpack.Decoder(kind) for kind in RECORDS.values()
}


def encode(record: Record, *, max_bytes: int | None = None) -> bytes:
    """The record's bytes. Raises OversizedRecord, or InvalidRecord for text that is no valid Unicode."""
    schema = _name(type(record))
    try:
        data = _encoder.encode(record)
    except UnicodeEncodeError as error:
        raise InvalidRecord(f"text that UTF-8 cannot encode ({error})", schema=schema) from error
    if max_bytes is not None and len(data) > max_bytes:
        raise OversizedRecord(f"{len(data)} bytes, {max_bytes} allowed", schema=schema)
    return data


def decode(data: bytes, expected: type[R], *, max_bytes: int | None = None) -> R:
    """The record in `data`. Raises a RecordError that says which record and field, never anything else."""
    if max_bytes is not None and len(data) > max_bytes:
        raise OversizedRecord(f"{len(data)} bytes, {max_bytes} allowed")
    schema = _check_header(data, expected)
    try:
        return _decoders[expected].decode(data)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at ")
        raise InvalidRecord(reason, schema=schema, field=path.strip("`").removeprefix("$.")) from error
    except (msgspec.DecodeError, RecursionError, OverflowError) as error:
        raise _broken(error, schema) from error


def _check_header(data: bytes, expected: type[Record]) -> str:
    wanted = _name(expected)
    try:
        header = _header.decode(data)
    except msgspec.ValidationError as error:
        raise ForeignRecord(f"no map with schema and version ({error})") from error
    except (msgspec.DecodeError, RecursionError, OverflowError) as error:
        raise _broken(error, "unknown") from error
    if header.schema != wanted:
        raise ForeignRecord(f"expected a record {wanted}", schema=header.schema)
    if header.version > expected.VERSION:
        raise NewerRecord(f"version {header.version}, this reader knows {expected.VERSION}", schema=wanted)
    if header.version < 1:
        raise InvalidRecord(f"{header.version} is no version", schema=wanted, field="version")
    return wanted


def _broken(error: Exception, schema: str) -> RecordError:
    kind = TruncatedRecord if "truncated" in str(error) else ForeignRecord
    return kind(str(error), schema=schema)


def json_schemas() -> dict[str, Any]:
    """JSON Schema of every record, as the fields stand before packing (bytes appear as base64 strings)."""
    kinds = list(RECORDS.values())
    refs, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "records": dict(zip(RECORDS, refs, strict=True)),
        "$defs": components,
    }

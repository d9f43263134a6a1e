"""What every record on the stream has in common: a schema name, a version, and strict fields."""

import re
from typing import Annotated, ClassVar

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
"""A number of things, a version or a place: never negative, and exact in every reader's arithmetic."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A named part of a record: never on the stream by itself."""


def _schema_name(class_name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", class_name).lower()


class Record(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="schema",
    tag=_schema_name,
):
    """A record of the stream: on the wire a map that starts with `schema` and `version`.

    A field that is added, removed or changed in meaning raises VERSION: readers refuse what is newer
    than they are, so an old worker never half-understands a new record.
    """

    VERSION: ClassVar[int] = 1

    version: int = 0

    def __post_init__(self) -> None:
        if self.version == 0:
            msgspec.structs.force_setattr(self, "version", self.VERSION)

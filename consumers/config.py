"""Section [mentor], apart from mentor.py so that whoever teaches may read it."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeInt

from consumers.leak.guard import GuardMode
from mentor_stream.config import Section

GUIDES = "consumers.guides"
"""Where guides are found by name."""


class MentorConfig(Section):
    """Section [mentor]."""

    table: ClassVar[str] = "mentor"

    guide: dict[str, Any] = Field(default_factory=lambda: {"kind": "none"})
    """The mentor policy: `kind` (fdcg, critique, static, filter, none, or your own) and its options."""
    concurrency: int = Field(16, ge=1, le=100_000)
    """Cases worked on at once."""
    max_case_age: NonNegativeInt | Literal["unlimited"] = 4
    """Skip a collapsed group this many policy versions old; its mistakes are not today's."""
    max_backlog: Annotated[int, Field(ge=1, le=1_000_000)] | Literal["unlimited"] = 256
    """Cases that wait while `concurrency` are worked on: the newest is next, and when there are more the
    oldest is given up. Unlimited leaves them on the stream, in their order, until there is time for them."""
    max_rounds: int = Field(1, ge=1)
    """Lessons on one question before it is given up; each sees the hints of those before."""
    leak_guard: GuardMode = "auto"
    """How hints are searched for the answer: `math` in any equivalent spelling, `code` for lines of the
    solution, hidden tests and programs, `auto` as code where the reference holds tests and as math elsewhere,
    `text` as the reference is written, `off` for references that are no secret."""

"""What a program may use, where it runs, and what its reward is."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from mentor_stream.config import Section


class Config(Section):
    """Options of the verifier `code`."""

    reward: Literal["all", "fraction"] = "all"
    """`all`: 1 when every test passes, else 0, and the first failure ends it. `fraction`: the share of tests
    that pass; right is still all of them."""
    sandbox: Literal["bubblewrap", "rlimits"] = "bubblewrap"
    """`rlimits` keeps a program from nothing that your user may read, write or delete: not for a policy."""
    test_seconds: float = Field(default=6, gt=0)
    """CPU seconds of a program in one test; three times as many by the clock."""
    total_seconds: float = Field(default=60, gt=0)
    """The same in all tests of one completion together."""
    memory_megabytes: int = Field(default=1024, ge=128)
    """Address space of a program."""
    output_megabytes: int = Field(default=16, ge=1)
    """Most that a program may print in one run."""
    disk_megabytes: int = Field(default=16, ge=1)
    """What it may keep in /tmp, which is memory and gone after the run; also its largest file."""
    python: Path | None = None
    """The interpreter, with its packages. Left out: the one that runs this, and the standard library only."""

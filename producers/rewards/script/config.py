"""What a program may use, as for `code`, and whether it is apart from its tests."""

from typing import Literal

from producers.rewards import code


class Config(code.Config):
    """Options of the verifier `script`: those of `code`, and one more."""

    isolation: Literal["separate", "shared"] = "separate"
    """`separate`: tests and program in a sandbox each. `shared`: together in one, for tests that replace
    parts of the program's world (mocks, files, plots). A program may change its tests then: good enough to
    measure, not to train on."""

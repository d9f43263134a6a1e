"""Keys of servers, by the environment variable that holds them."""

import os
import re
from collections.abc import Iterable


def problems(setting: str, name: str | None) -> Iterable[str]:
    """Why the variable of that name, which the setting has, holds no key; none where no key is wanted."""
    if name is None:
        return
    key = os.environ.get(name)
    if not key:
        yield f"{setting} is {name!r}: this environment variable is not set."
    elif not re.fullmatch(r"[!-~]+", key):
        yield (
            f"{setting} is {name!r}: this environment variable holds a space, an end of line or a letter "
            "that no key has."
        )

"""Values as JSON. What JSON has no word for is an object with one key: {"tuple": [...]}, {"set": [...]}.

{"object": ...} is what stays in the program's interpreter: by its number, or by its name in there.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

KINDS: dict[str, tuple[type, Callable[[Any], list[Any]], Callable[[list[Any]], Any]]] = {
    "tuple": (tuple, list, tuple),
    "dict": (dict, lambda value: [[key, item] for key, item in value.items()], dict),
    "set": (set, list, set),
    "frozenset": (frozenset, list, frozenset),
    "bytes": (bytes, list, bytes),
    "bytearray": (bytearray, list, bytearray),
    "complex": (complex, lambda value: [value.real, value.imag], lambda parts: complex(*parts)),
    "range": (range, lambda value: [value.start, value.stop, value.step], lambda parts: range(*parts)),
    "deque": (deque, list, deque),
}
"""A class, its parts, and how it is put together."""


def pack(value: Any, other: Callable[[Any], Any]) -> Any:
    """A value as JSON; `other` says what to write for one that is not plain."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [pack(item, other) for item in value]
    for name, (kind, parts, _) in KINDS.items():
        if isinstance(value, kind):
            return {name: pack(parts(value), other)}
    if isinstance(value, Handle) or not callable(convert := getattr(value, "tolist", None)):
        return {"object": other(value)}
    return pack(convert(), other)  # numpy's numbers and arrays are as good as Python's own


def unpack(data: Any, known: Callable[[Any], Any]) -> Any:
    """The value; `known` finds one that is not plain. Raises what reading anything else may raise."""
    if isinstance(data, list):
        return [unpack(item, known) for item in data]
    if not isinstance(data, dict):
        return data
    ((name, inner),) = data.items()
    if name == "object":
        return known(inner)
    if not isinstance(inner, list):
        raise ValueError(name)  # noqa: TRY004  what stands here was read
    return KINDS[name][2](unpack(inner, known))


class Handle:
    """Something of the program's, seen from the tests. It is equal to nothing but itself."""

    __slots__ = ("_ask", "_of")

    def __init__(self, ask: Callable[..., Any], of: str | int) -> None:
        object.__setattr__(self, "_ask", ask)
        object.__setattr__(self, "_of", of)

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Have the program call it."""
        return self._ask("call", self._of, list(given), named)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._ask("list", self._of))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._ask("get", self._of, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._ask("set", self._of, name, value)

"""Lines of a worked solution in a hint, also laid out or spelled otherwise, or with other names. No I/O."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from consumers.leak.idioms import is_idiom
from consumers.leak.tokens import Tokens, shape, statements, tokens
from mentor_stream.answers.blocks import fenced

MAX_STATEMENTS = 1000
"""Of a longer solution the first count."""
LONG = 7
"""Tokens of a statement that is recognised alone."""
SHORT, TOGETHER = 5, 12
"""Tokens of one that counts with others, and of them all."""
TELLING = 4
"""What a statement must have beside names to be recognised under other names."""

_OPERATORS = frozenset(
    "+ - * / % // ** << >> & | ^ ~ < > <= >= == != += -= *= /= %= ++ -- ? =>".split()  # noqa: SIM905
)
_WORDS = frozenset(("and", "or", "not", "in", "is", "if", "else", "lambda"))
_HEADS = frozenset(("if", "elif", "while", "return", "print", "else", "assert"))


def copied(hint: str, question: str, solution: str) -> str | None:
    """What a hint copies of a solution's statements, or None.

    What everybody writes, or the question shows, is no copy. Short statements are one if there are several.
    """
    said, asked = tokens(hint), _joined(tokens(question))
    whole, outline = _joined(said), _joined(shape(said))
    short: list[Tokens] = []
    for statement in _statements(solution):
        new = [piece for piece in _pieces(statement) if _joined(piece) not in asked]
        for piece in filter(_is_long, new):
            if _joined(piece) in whole or _renamed(piece, said, outline):
                return " ".join(piece)
        if statement in new and len(statement) >= SHORT and _joined(statement) in whole:
            short.append(statement)
    if len(short) > 1 and sum(map(len, short)) >= TOGETHER:
        return ", ".join(" ".join(statement) for statement in short)
    return None


@lru_cache(maxsize=64)
def _statements(solution: str) -> tuple[Tokens, ...]:
    """What a solution has of its own; of one in prose, what stands in its blocks of code."""
    code = "\n".join(fenced(solution)) or solution
    return tuple(dict.fromkeys(found for found in statements(code) if not is_idiom(found)))[:MAX_STATEMENTS]


def _pieces(statement: Tokens) -> Iterator[Tokens]:
    """A statement, and what it says without its head: a condition, a value, what is printed."""
    yield statement
    while statement and statement[0] in _HEADS:
        statement = statement[1:]
        if statement and statement[0] == "(" and statement[-1] == ")":
            statement = statement[1:-1]
        yield statement
    if "=" in statement:
        yield statement[statement.index("=") + 1 :]


def _is_long(piece: Tokens) -> bool:
    telling = _work(piece) > 1 or (_work(piece) == 1 and _repeats(piece) > 1) or _takes_a_result(piece)
    return len(piece) >= LONG and telling and not is_idiom(piece)


def _takes_a_result(piece: Tokens) -> bool:
    """Whether a piece keeps what a call with several arguments returns: the step that a program turns on."""
    called = any(two == "(" and one.isidentifier() for one, two in pairwise(piece))
    return called and "=" in piece and "," in piece[piece.index("=") :]


def _work(piece: Tokens) -> int:
    """How much a piece does: operators, calls, subscripts. Nothing if it may be but prose."""
    symbols = sum(token in _OPERATORS for token in piece)
    calls = sum(two in "([" and (one.isidentifier() or one in ")]") for one, two in pairwise(piece))
    words = sum(token in _WORDS for token in piece)
    entries = piece.count(":") if piece.count(":") > 2 else 0
    return symbols + calls + words + entries if symbols or entries or (calls and words) else 0


def _repeats(piece: Tokens) -> int:
    names = [token for token, kind in zip(piece, shape(piece), strict=True) if kind == "v"]
    return len(names) - len(set(names))


def _renamed(piece: Tokens, said: Sequence[str], outline: str) -> bool:
    """Whether a piece stands in the hint with other names, for each name one other in all its places."""
    if _work(piece) + _repeats(piece) < TELLING:
        return False
    wanted, at = _joined(shape(piece)), -1
    while (at := outline.find(wanted, at + 1)) >= 0:
        start = outline.count("\n", 0, at)
        if _one_to_one(piece, said[start : start + len(piece)]):
            return True
    return False


def _one_to_one(piece: Sequence[str], other: Sequence[str]) -> bool:
    pairs = set(zip(piece, other, strict=True))
    return len({one for one, _ in pairs}) == len(pairs) == len({two for _, two in pairs})


def _joined(code: Iterable[str]) -> str:
    """Tokens as one text in which whole tokens can be searched for."""
    return "\n" + "\n".join(code) + "\n"

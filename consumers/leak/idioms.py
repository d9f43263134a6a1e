"""What everybody writes in a program, whatever it solves: imports, reading, plain loops, empty containers."""

import re
from collections.abc import Sequence

from consumers.leak.tokens import shape

_V = r"v(?: \. v)*"
_ITEM = rf"(?:- )?(?:{_V}|\d+(?:\.\d+)?|true|false|None|null)"
_PLAIN = rf"(?:{_V}|(?:- )?\d+(?:\.\d+)?|true|false|None|null)"
_AT = rf"{_V}(?: \[ {_ITEM}(?: [-+] {_ITEM})? \])*"
_CONSTANT = r"\d+(?: \*\* \d+)?(?: [-+] \d+)?"
_EMPTY = r"\[ \]|\( \)|(?:v|list|dict|set|deque|Counter) \( (?:v |list |int |set )?\)"
_READS = r"input \(|stdin|cin >>|scanf|read[lL]ine|nextInt|BufferedReader"
_FILLED = rf"\[ {_ITEM} \] \* {_ITEM}(?: [-+] {_ITEM})?"
_OPENINGS = frozenset(("using", "package", "public", "private", "namespace", "typedef"))
_THAN = r"(?:==|!=|<|<=|>|>=)"
_ENDS = rf"(?: (?:return {_ITEM}|print \( {_ITEM} \)|break|continue))?"
_IDIOMS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:import|from|#|class|with|try|except|catch) .*",
        r"(?:def|function|fn|func) (?!.*\breturn\b).*",
        rf"(?:.* )?(?:{_READS})(?: .*)?",
        rf"for {_V}(?: , {_V})* (?:in|of|:) (?:range|enumerate|zip|reversed|sorted) \( .*",
        rf"for {_V}(?: , {_V})* (?:in|of|:) {_AT}(?: \[ 1 : \])?(?: \. v \( \))?",
        rf"for v = {_ITEM} v (?:<|<=|>|>=) {_ITEM}(?: [-+] \d+)? (?:v (?:\+\+|--|\+= \d+)|(?:\+\+|--) v)",
        rf"(?:{_V} = )?(?:{_FILLED}|\[ {_FILLED} for v in range \( {_ITEM}(?: [-+] {_ITEM})? \) \])",
        rf"(?:{_V}(?: , {_V})* = )*(?:{_CONSTANT}|{_PLAIN}(?: , {_PLAIN})*|{_EMPTY})",
        rf"(?:{_V} = )?(?:len|sum|max|min|sorted|list|set) \( {_V} \)",
        rf"(?:return )?(?:print \( )?(?:\* )?{_AT}(?: \))?",
        rf"cout << {_AT}(?: << (?:v|\S))*",
        rf"(?:if|while|elif|else if) (?:not )?(?:{_V}|len \( {_V} \))(?: \( \))?(?: {_THAN} {_ITEM})?{_ENDS}",
        rf"{_AT} \. (?:v|sort|reverse) \((?: {_ITEM}(?: , {_ITEM})*)? \)",
        r"(?:v = )?(?:v \+ )?v [-+] v (?://|/|>>) [12]",
        rf"{_AT} (?:\+=|-=) (?:\d+|{_AT})",
        r"(?:else|break|continue|pass|do|end|return)",
    )
)


def is_idiom(statement: Sequence[str]) -> bool:
    """Whether a statement, as tokens, belongs to no solution in particular."""
    text = " ".join(shape(statement))
    return statement[0] in _OPENINGS or any(pattern.fullmatch(text) for pattern in _IDIOMS)

"""Words, as they stand among formulas."""

import re

WORDS = re.compile(r"\(?[A-Za-z]\)?|[A-Za-z]{3,}(?:[ '-][A-Za-z]+)*")
"""One letter or plain words, and no mathematics."""
_PROSE = re.compile(
    r"(?<![\\A-Za-z])(?!sin|cos|tan|cot|sec|csc|arc|log|exp|sqrt|max|min|gcd|lcm|mod)[A-Za-z]{3,}"
)
_ENVIRONMENT = re.compile(r"\\(?:begin|end|operatorname)\*?\{[^{}]*\}")
_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]*)\}")


def is_prose(latex: str) -> bool:
    """Whether there are words around what may be formulas."""
    return bool(_PROSE.search(_ENVIRONMENT.sub(" ", _TEXT.sub(" ", latex))))


def unmarked(latex: str) -> str:
    """The same with words as they are, not as LaTeX sets them: `yes` for `\\text{yes}`."""
    return _TEXT.sub(r"\1", latex)

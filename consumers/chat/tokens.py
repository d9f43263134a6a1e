"""About how many tokens a text has, without a tokenizer: rather too many than too few."""

from string import ascii_letters

_PROSE = (ascii_letters + " ").encode()
_ASCII = bytes(range(128))


def estimate(text: str) -> int:
    """Three letters or spaces a token, one other ASCII character (digits, LaTeX), two bytes of the rest."""
    data = text.encode(errors="replace")
    beyond = data.translate(None, _ASCII)
    signs = data.translate(None, _PROSE)
    prose, other = len(data) - len(signs), len(signs) - len(beyond)
    return -(-prose // 3) + other + -(-len(beyond) // 2)

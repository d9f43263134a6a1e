"""ASCII for every look-alike, nothing for what cannot be seen. Knows characters and HTML, no mathematics."""

import html
import re
import unicodedata

_SUPER = "⁰¹²³⁴-⁹"
_TAGS = (
    (re.compile(r"<!--.{0,200}?-->", re.DOTALL), ""),
    (re.compile(r"<sup>([^<>]{1,40})</sup>", re.IGNORECASE), r"^{\1}"),
    (re.compile(r"<sub>([^<>]{1,40})</sub>", re.IGNORECASE), r"_{\1}"),
    (re.compile(r"</?(?:b|i|u|em|strong|code|tt|mark|small)>", re.IGNORECASE), ""),
    (re.compile(r"</?(?:span|font)(?: \w{1,20}=[^<>]{0,80})?>", re.IGNORECASE), ""),
    (re.compile(r"</?(?:p|br|li|ul|ol|td|tr|div) ?/?>", re.IGNORECASE), " "),
)


def plain_characters(text: str) -> str:
    """The text in ASCII where it only looks otherwise: digits of other scripts, entities, powers, dashes."""
    text = without_html(text)
    text = re.sub(
        rf"(?<=\d)(?=[¼-¾⅐-⅞]|[{_SUPER}]{{1,12}}[\u2044\u2215/])", " ", text
    )  # 2½ is 2 1/2, not 21/2
    text = re.sub(rf"[{_SUPER}]{{1,12}}[\u2044\u2215/][₀-₉]{{1,12}}", _compatible, text)
    text = re.sub(rf"(?<![^\s(*])[{_SUPER}]+(?![^\s.,;!)*])", _compatible, text)  # the power of nothing
    text = re.sub(rf"[{_SUPER}⁻]+", lambda m: "^{" + _compatible(m) + "}", text)
    text = "".join(map(_plain_character, unicodedata.normalize("NFKC", text)))
    if not text.isascii():
        text = re.sub(r"\w+", _latin, text)
    return re.sub(r"[^\S\n]+", " ", text)


def without_html(text: str) -> str:
    """Entities as characters, and no tags but those that would be missed: of powers and indices."""
    if "&" in text:
        text = html.unescape(text)
    if "<" in text:
        for pattern, replacement in _TAGS:
            text = pattern.sub(replacement, text)
    return text


_LOOK_ALIKES = str.maketrans("аеорсухіјѕһοαενυιѵƒ", "aeopcyxijshoaevuivf")


def _latin(match: re.Match[str]) -> str:
    """A word with Latin letters and Cyrillic or Greek ones that look like them, which no language has."""
    word = match[0]
    return word if word.isascii() or not re.search("[A-Za-z]", word) else word.translate(_LOOK_ALIKES)


def _compatible(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", match[0])


_OPERATORS = {
    "\u2044": "/", "\u2215": "/", "\u00f7": "/",  # fraction slash, division slash, division sign
    "\u00d7": "*", "\u00b7": "*", "\u22c5": "*", "\u2217": "*",  # times and its look-alikes
    "\u066c": ",", "\u066b": ".", "\u2019": "'",  # the Arabic thousands and decimal marks, an apostrophe
    "\u2212": "-", "\u2796": "-", "\u2795": "+",  # minus, and heavy signs
    "\u115f": "", "\u1160": "", "\u2800": "",  # letters without a shape
}  # fmt: skip


def _plain_character(character: str) -> str:
    if character.isascii():
        return character
    if character in _OPERATORS:
        return _OPERATORS[character]
    category = unicodedata.category(character)
    if category in ("Cf", "Mn", "Me"):  # invisible, or a mark upon another character
        return ""
    if category == "Pd":
        return "-"
    if category == "Nd" or (category == "No" and unicodedata.numeric(character).is_integer()):
        return str(int(unicodedata.numeric(character)))
    return character

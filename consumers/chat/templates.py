"""What a language model is told: template files, which a reader can replace.

A file <name>.md holds the system message and, behind a line `---`, the user's turn, in which
`$name` is replaced. Everything filled in is fenced: marked as data that somebody else wrote.
"""

import re
import secrets
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from string import Template

from mentor_stream.config import ConfigError


@dataclass(frozen=True)
class Prompt:
    """A template, read."""

    system: str
    user: Template

    def fill(self, **values: str) -> str:
        """The user's turn. Values are text, whatever they contain: no `$name` in them is replaced."""
        return self.user.substitute(values)


def load(file: Path, names: AbstractSet[str], setting: str) -> Prompt:
    """The prompt of a file that may ask for these names. Raises ConfigError, which names the setting."""
    try:
        system, separator, user = file.read_text(encoding="utf-8").partition("\n---\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{setting}: prompt {file} cannot be read: {error}") from error
    template = Template(user.strip())
    if not separator:
        raise ConfigError(f"{setting}: prompt {file} has no line --- between system message and user's turn")
    if not template.is_valid():
        raise ConfigError(f"{setting}: prompt {file} has a $ that starts no name; write $$ for a dollar sign")
    if unknown := sorted(set(template.get_identifiers()) - names):
        offered = ", ".join(sorted(names))
        raise ConfigError(f"{setting}: prompt {file} asks for ${unknown[0]}; there is {offered}")
    return Prompt(system.strip(), template)


_KEY = secrets.token_bytes(32)
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def fence(name: str, text: str) -> str:
    """Text marked as data, without what is no text: control characters, lone surrogates.

    The mark depends on the text and on a secret of this process, so that nobody who writes the text can
    close it early, and the same text is marked the same way whenever a server may have its prefix cached.
    """
    text = printable(text)
    mark = f"{name} {blake2b(text.encode(), key=_KEY, digest_size=8).hexdigest()}"
    return f"<{mark}>\n{text}\n</{mark}>"


def printable(text: str) -> str:
    """The text with what no server needs to understand replaced; line breaks and tabs stay."""
    return _UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n"))

"""How data is marked in a prompt."""

import re
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from consumers.chat.templates import fence, printable


def mark(text: str) -> str:
    found = re.match("<(.*)>", fence("hint", text))
    assert found
    return found[1]


@given(st.text())
def test_no_text_closes_its_fence(text: str) -> None:
    fenced = fence("hint", text)
    assert fenced.count(f"</{mark(text)}>") == 1
    assert fenced.endswith(f"\n</{mark(text)}>")


def test_the_same_text_has_the_same_mark_here_and_another_in_another_process() -> None:
    code = "from consumers.chat.templates import fence; print(fence('hint', 'x').splitlines()[0][1:-1])"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert mark("x") == mark("x") != mark("y")
    assert re.fullmatch("hint [0-9a-f]{16}", mark("x"))
    assert other.stdout.strip() != mark("x")


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_no_text_is_replaced(text: str) -> None:
    clean = printable(text)
    clean.encode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", clean)


def test_line_breaks_tabs_and_other_scripts_stay() -> None:
    assert printable("a\tb\r\nc\nπ答🙂") == "a\tb\nc\nπ答🙂"
    assert printable("a\x00b\x1b[31m\ud800") == "a\ufffdb\ufffd[31m\ufffd"

"""Code between fences, and the answer behind the thinking."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.answers.blocks import Block, blocks
from mentor_stream.answers.thinking import after_thinking


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no code", []),
        ("```python\nx\n```", [("python", "x\n")]),
        ("a\n``` Python title=a.py\nx\ny\n```\nb", [("python", "x\ny\n")]),
        ("```{.python}\nx\n```", [("python", "x\n")]),
        ("~~~c++\nx\n~~~\n\n```\ny\n```", [("c++", "x\n"), ("", "y\n")]),
        ("````\n```\nx\n```\n````", [("", "```\nx\n```\n")]),
        ("1. so\n   ```py\n   x\n   ```", [("py", "   x\n")]),
        ("```python\nx\n", [("python", "x\n")]),
        ("```", []),
    ],
)
def test_blocks_have_their_language(text: str, found: list[Block]) -> None:
    assert blocks(text) == found


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("5", "5"),
        ("<think>4</think>5", "5"),
        ("4</think>5", "5"),
        ("<think>3</think>4</think>5", "5"),
        ("<think>5", None),
        ("<think>3</think>4<think>5", None),
        ("", ""),
    ],
)
def test_only_what_is_behind_the_thinking_is_the_answer(completion: str, answer: str | None) -> None:
    assert after_thinking(completion) == answer


@pytest.mark.parametrize("flood", ["`", "~", " ", ">", "\n", "```\n", "```python\n", "~~~ `", "` ", " \t>`"])
def test_a_flood_is_read_in_no_time(flood: str) -> None:
    """Hours, if it were read again from every place."""
    blocks(flood * (2**20 // len(flood)))


@given(st.text("`~ \npy"))
def test_no_text_breaks_the_search_for_blocks(text: str) -> None:
    assert all(block.code in text for block in blocks(text))

"""What is read out of a language model's reply."""

import contextlib
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from consumers.chat.replies import UnreadableReply, parse_object, text_of, texts_of


@pytest.mark.parametrize(
    ("reply", "hint"),
    [
        ('{"hint": "look"}', "look"),
        ('  \n{"hint": "look"}\n', "look"),
        ('```json\n{"hint": "look"}\n```', "look"),
        ('```\n{"hint": "look"}\n```', "look"),
        ('Sure, here it is:\n{"hint": "look"}\nHope it helps!', "look"),
        ('{"hint": "look",}', "look"),
        ('{"hint": "look", "why": ["a", "b",],}', "look"),
        ('{"hint": "a, } b"}', "a, } b"),
        ('{"hint": "a,}",}', "a,}"),
        ('{"hint": "say \\"no\\""}', 'say "no"'),
        ('{"hint": "two\nlines"}', "two\nlines"),
        ('<think>{"hint": "draft"} no</think>{"hint": "look"}', "look"),
        ('First {"hint": "draft"}, better {"hint": "look"}', "look"),
        ('{"hint": "look", "more": {"hint": "inner"}}', "look"),
        ('The set {1, 2} matters. {"hint": "look"}', "look"),
        ('{"hint": "use \\\\frac{1}{2}"}', "use \\frac{1}{2}"),
        ('{"hint": "use \\frac{1}{2}"}', "use \\frac{1}{2}"),
        ('{"hint": "use \\sqrt{x} \\cdot y"}', "use \\sqrt{x} \\cdot y"),
        ('{"hint": "use x \\times y"}', "use x \\times y"),
        ('{"hint": "use \\boxed{x}"}', "use \\boxed{x}"),
        ('{"hint": "  look  "}', "look"),
        ('{"hint": "Überlege"}', "Überlege"),
    ],
)
def test_the_object_is_found_however_it_is_wrapped(reply: str, hint: str) -> None:
    assert text_of(parse_object(reply), "hint") == hint


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I'm sorry, I cannot help with that.",
        '{"hint": "look',
        '{"hint": ',
        "{",
        "{{{{",
        '["hint"]',
        '"hint"',
        "null",
        "<think>all thought, no answer",
        '{"hint": "look"} </think> oh',
        '{"hint": }',
        '{"a": ' * 5000,
        '{"' * 20000,
        '{"' * 3_000_000,
        '{"a' + '\\"' * 30_000,
        '{"hint": "' + "x" * 100_000 + '"}',
    ],
)
def test_a_reply_without_an_object_is_unreadable(reply: str) -> None:
    with pytest.raises(UnreadableReply):
        parse_object(reply)


@pytest.mark.parametrize("value", ["null", "3", '""', '"  "', "[]", "{}", "NaN", '"a \\ud800 b"'])
def test_a_field_that_is_no_text_is_unreadable(value: str) -> None:
    with pytest.raises(UnreadableReply):
        text_of(parse_object(f'{{"hint": {value}}}'), "hint")


def test_a_missing_field_is_unreadable_unless_it_is_optional() -> None:
    with pytest.raises(UnreadableReply, match="critique"):
        text_of({}, "critique")
    assert text_of({}, "critique", optional=True) == ""


def test_lists_may_be_one_text_or_missing() -> None:
    assert texts_of({"errors": ["a", "", "b"]}, "errors") == ("a", "b")
    assert texts_of({"errors": "a"}, "errors") == ("a",)
    assert texts_of({}, "errors") == ()
    with pytest.raises(UnreadableReply):
        texts_of({"errors": 3}, "errors")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda v: st.lists(v) | st.dictionaries(st.text(), v),
)


@given(st.dictionaries(st.text(min_size=1), json_values, min_size=1), st.booleans())
def test_any_object_survives_a_fence_and_prose(value: dict[str, object], indent: bool) -> None:
    written = json.dumps(value, indent=2 if indent else None, ensure_ascii=False)
    assume("</think>" not in written)
    assert parse_object(f"Here:\n```json\n{written}\n```\nDone.") == value


@given(st.text(alphabet='{}[]",:\\ abn1\n', max_size=200))
def test_no_reply_breaks_the_parser(reply: str) -> None:
    with contextlib.suppress(UnreadableReply):
        assert isinstance(parse_object(reply), dict)


def test_thinking_may_be_long() -> None:
    assert parse_object("x" * 1_000_000 + '</think>{"hint": "look"}') == {"hint": "look"}

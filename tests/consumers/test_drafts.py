"""What is told from a hint without asking a judge."""

import pytest

from consumers.drafts import no_hint
from consumers.guides.fdcg import SAFE_HINT
from tests.consumers.leak_table import CLEAN, LEAKS


@pytest.mark.parametrize(
    ("draft", "kind"),
    [
        ("I'm sorry, I can't help with that.", "refusal"),
        ("I\u2019m sorry, but I can\u2019t assist with that request.", "refusal"),
        ("Sorry, I cannot provide a hint.", "refusal"),
        ("I cannot help with this.", "refusal"),
        ("I can't.", "refusal"),
        ("I am unable to assist.", "refusal"),
        ("My apologies, the material is missing.", "refusal"),
        ("As an AI language model, I have no access to it.", "refusal"),
        ("Error: 429 rate limit exceeded, please retry later", "error"),
        ("Rate limit exceeded.", "error"),
        ("Error code: 500", "error"),
        ("HTTP 503", "error"),
        ("502 Bad Gateway", "error"),
        ("openai.APIConnectionError: connection refused", "error"),
        ("Request timed out.", "error"),
        ('{"error": {"message": "overloaded"}}', "error"),
        ("Traceback (most recent call last):\n  File ...", "error"),
        ("<!DOCTYPE html><html><body>Sign in</body></html>", "web page"),
        ("<html>\n<head><title>Nginx</title></head></html>", "web page"),
    ],
)
def test_a_text_that_is_no_hint_is_told_by_its_words(draft: str, kind: str) -> None:
    assert kind in (no_hint(draft) or "")


@pytest.mark.parametrize(
    "hint",
    [
        SAFE_HINT,
        "Your error: the minus sign was dropped in step 2.",
        "Error analysis: compare both sides.",
        "The error 500 m is too large: check the units.",
        "Error: 500 was added twice.",
        "Find the rate first; the limit is reached at the end of the hour.",
        "You cannot divide by zero: exclude it.",
        "Ask yourself: can I factor this?",
        "A server carries 400 plates: how many per trip?",
        "Note that a<b and b>c.",
        "Requests arrive in pairs, so count pairs.",
        *(row.hint for row in (*CLEAN, *LEAKS)),
    ],
)
def test_a_hint_is_not_taken_for_anything_else(hint: str) -> None:
    assert no_hint(hint) is None

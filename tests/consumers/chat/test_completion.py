"""What is read out of a response."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.chat.completion import is_completion, is_cut, text_of, tokens_of
from consumers.chat.retries import Failure

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda v: (
        st.lists(v)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "usage", "prompt_tokens", "finish_reason"]), v
        )
    ),
)


def a_choice(finish: str = "stop", **message: object) -> dict[str, object]:
    return {"choices": [{"message": message, "finish_reason": finish}]}


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (a_choice(content=None), "the reply is empty"),
        (a_choice(content=" \n"), "the reply is empty"),
        (a_choice("length", content=""), "empty, cut off at max_tokens = 9"),
        (a_choice(content=None, reasoning_content="hm"), "the reply is thinking only"),
        (a_choice("length", content="", reasoning="hm"), "thinking only, cut off at max_tokens = 9"),
        (a_choice("content_filter", content="a"), "content filter"),
        (a_choice(content=None, refusal="I will not"), "refused"),
    ],
)
def test_a_response_without_text_says_why(response: object, reason: str) -> None:
    with pytest.raises(Failure, match=reason):
        text_of(response, 9)


@given(json_values)
def test_no_response_breaks_the_reading(response: object) -> None:
    is_completion(response), is_cut(response), tokens_of(response)
    with suppress(Failure):
        assert text_of(response, 9).strip()


@pytest.mark.parametrize("tokens", [None, float("nan"), -1, "7", True, 2**31, 1.5])
def test_tokens_that_are_no_count_are_unknown(tokens: object) -> None:
    assert tokens_of({"usage": {"prompt_tokens": 1, "completion_tokens": 2}}) == (1, 2)
    assert tokens_of({"usage": {"prompt_tokens": tokens, "completion_tokens": 2}}) is None

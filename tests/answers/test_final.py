"""Where an answer stands in a completion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentor_stream.answers import MAX_CHARACTERS, Form, final_answer


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        (r"So it is \boxed{12}.", "12"),
        (r"First \boxed{11}, no: \boxed{12}", "12"),
        (r"\boxed{\frac{1}{2}} is 0.5", r"\frac{1}{2}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\boxed{12}}", "12"),
        (r"\boxed{12} and then \boxed{1", "12"),
        (r"<think>Perhaps \boxed{11}.</think>\boxed{12}", "12"),
        (r"Perhaps \boxed{11}.</think> The answer is 12.", "12"),
        (r"<think>Perhaps \boxed{11}", None),
        ("The answer is 12. I am sure about all 3 steps.", "12"),
        ("The answer is: **12**", "12"),
        ("**Answer:** 12", "12"),
        ("Final answer = $x = 12$", "$x = 12$"),
        ("1 + 2 = 3\n#### 3", "3"),
        ("The answer is 3.5.", "3.5"),
        ("The answer is 1.\nNo, the answer is 2.", "2"),
        ("The answer is 12. The answer is 13.", "13"),
        ("The answer is 12. This answer is correct.", "12"),
        ("The answer is not 12", "not 12"),
        ("The answer is right.", "right"),
        ("The answer is 12!", "12"),
        ("12", "12"),
        (" 43 57 28", "43 57 28"),
        ("x^2 + 1", "x^2 + 1"),
        ("It comes to -3 in the end", "-3"),
        ("It comes to 10-3 in the end", "3"),
        ("yes", "yes"),
        ("We add 3 and 4, which makes 7", "7"),
        ("This makes $\\frac{1}{2}$ in all", "$\\frac{1}{2}$"),
        ("It comes to 1,234.50 dollars", "1,234.50 dollars"),
        ("It comes to \uff11\uff12 dollars", "12 dollars"),
        ("It comes to 12 square feet in all", "12 square feet"),
        ("It comes to 12 apples in all", "12"),
        ("It is $3$, not $2$.", "$3$"),
        ("It is 3 rather than 2.", "3"),
        ("The answer is 0.333...", "0.333..."),
        ("The answer is 2**10.", "2**10"),
        (r"The roots are $\boxed{1}$ and $\boxed{2}$.", "1, 2"),
        (r"The roots are \boxed{1}, \boxed{\boxed{2}}, and \boxed{3}.", "1, 2, 3"),
        ("I do not know how to do this", None),
        ("", None),
    ],
)
def test_the_answer_a_completion_settles_on(completion: str, answer: str | None) -> None:
    assert final_answer(completion) == answer


@pytest.mark.parametrize(
    "piece", ["{", "}", r"\boxed{", "answer ", "answer is ", "9", "$", "<think>", "\\(", " "]
)
def test_ten_megabytes_of_anything_are_searched_in_no_time(piece: str) -> None:
    completion = piece * (10**7 // len(piece))
    found = final_answer(completion)
    assert found is None or len(found) <= MAX_CHARACTERS


@pytest.mark.parametrize(
    ("form", "answer"), [("free", "12"), ("boxed", None), ("number", "13")], ids=["free", "boxed", "number"]
)
def test_a_form_says_what_counts_as_an_answer(form: Form, answer: str | None) -> None:
    assert final_answer("The answer is 12.\nStep 13", form) == answer
    assert final_answer(r"<think>12</think>It is \boxed{7}.", form) == "7"
    assert final_answer(r"<think>\boxed{7}</think>", form) is None


def test_boxes_in_boxes_as_deep_as_a_text_allows_are_read() -> None:
    assert final_answer(r"\boxed{" * 2400 + "5" + "}" * 2400) == "5"


@given(st.text(max_size=200))
def test_no_completion_makes_the_search_fail(completion: str) -> None:
    found = final_answer(completion)
    assert found is None or found

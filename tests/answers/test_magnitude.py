"""What may be computed and what may not, told from a formula's tree."""

import pytest

from mentor_stream.answers.formulas import expressions, same
from mentor_stream.answers.magnitude import too_large


@pytest.mark.parametrize(
    "latex",
    ["2^{1000}", "100!", r"\binom{100}{50}", r"\sum_{k=1}^{\infty} \frac{1}{k^2}", "(x+1)^{100}", r"\infty",
     r"\begin{pmatrix} 1 & 2^{10} \\ 3 & 4 \end{pmatrix}", r"\frac{1}{3^{500}}", "x^{2024}", "e^{-5}"],
)  # fmt: skip
def test_what_people_write_is_computed(latex: str) -> None:
    (value,) = expressions(latex)
    assert not too_large(value)


@pytest.mark.parametrize(
    "latex",
    ["9^{9^{9^{9}}}", "100000!", r"\binom{10^9}{5 \cdot 10^8}", r"\sum_{k=1}^{10^{12}} \frac{1}{k}",
     "(x+y+1)^{500}", r"\begin{pmatrix} 1 & 7^{10^{12}} \\ 3 & 4 \end{pmatrix}", r"0.5^{10^{9}}"],
)  # fmt: skip
def test_towers_are_not_computed_and_equal_to_themselves_only(latex: str) -> None:
    (value,), (one,) = expressions(latex), expressions("1")
    assert too_large(value)
    assert same(value, value)
    assert not same(value, one)
    assert not same(one, value)

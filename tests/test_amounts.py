"""Numbers as people read them."""

import pytest

from mentor_stream import amounts


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"), (0.0, "0"), (0.0008382, "< 0.01"), (0.013, "0.013"), (1.0, "1"), (2.345, "2.35"),
        (99.96, "100"), (1234.5, "1,234"), (1e6, "1,000,000"),
    ],
)  # fmt: skip
def test_amounts_have_three_digits_and_are_never_powers_of_ten(value: float | None, shown: str):
    assert amounts.amount(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (0.0, "< 0.001"), (0.00099, "< 0.001"), (0.0432, "0.043"), (0.25, "0.25"), (1.0, "1.00")],
)
def test_small_p_values_are_told_to_be_small(value: float | None, shown: str):
    assert amounts.p_value(value) == shown


def test_shares_are_percent_and_their_differences_signed_points():
    assert (amounts.percent(0.9041), amounts.percent(None)) == ("90.4 %", "-")
    assert [amounts.points(share) for share in (0.0149, -0.0149, None)] == ["+1.5", "-1.5", "-"]

"""Numbers as people read them, in tables and pages alike. Pure."""

NONE = "-"
"""Where there is no number."""


def percent(share: float | None) -> str:
    """A share as percent."""
    return NONE if share is None else f"{100 * share:.1f} %"


def points(share: float | None) -> str:
    """A difference of shares in percentage points."""
    return NONE if share is None else f"{100 * share:+.1f}"


def amount(value: float | None) -> str:
    """A mean or a sum, at least 0: three digits, and nothing finer than a hundredth."""
    if value is None:
        return NONE
    if 0 < value < 0.01:
        return "< 0.01"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def p_value(value: float | None) -> str:
    """Of a test."""
    if value is None:
        return NONE
    if value < 0.001:
        return "< 0.001"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"

"""A point in time as somebody types it."""

import re

import typer

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def moment(text: str, now: float) -> float:
    """Seconds since the epoch that `2h` (ago) or an ISO time means. Raises typer.BadParameter."""
    from datetime import datetime

    if ago := re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text):
        return max(0.0, now - float(ago[1]) * UNITS[ago[2]])
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(f"--since {text}: expected 90s, 30m, 2h, 7d or 2026-11-30T12:00") from error

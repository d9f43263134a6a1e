"""A point in time as somebody types it."""

import re

import typer

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def moment(option: str, text: str, now: float) -> float:
    """Seconds since the epoch that `2h` (ago) or an ISO time (`option`) means. Raises typer.BadParameter."""
    from datetime import datetime

    if ago := re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text):
        return max(0.0, now - float(ago[1]) * UNITS[ago[2]])
    try:
        return max(0.0, datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(f"{option} {text}: expected 90s, 30m, 2h, 7d or 2026-11-30T12:00") from error


def between(since: str | None, until: str | None, now: float) -> tuple[float | None, float | None]:
    """What --since and --until mean. Raises typer.BadParameter, also where nothing can lie between them."""
    begin = None if since is None else moment("--since", since, now)
    end = None if until is None else moment("--until", until, now)
    if begin is not None and end is not None and begin > end:
        raise typer.BadParameter(f"--since {since} is later than --until {until}: nothing lies between them")
    return begin, end

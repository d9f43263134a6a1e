"""Whether what is sampled teaches anything, in the words of the trainer's log and of the monitor. No I/O."""

MISSING = 0.5
"""Of plain groups without a right answer, from which on a batch waits for signal rather than for samples."""


def missing(collapsed: float | None, rescued: float | None) -> str:
    """That groups come and teach nothing, and what to do; empty where it is not so.

    `collapsed` is the share of plain groups without a right answer, `rescued` that of lessons with one;
    None where there were none.
    """
    if collapsed is None or collapsed < MISSING:
        return ""
    lessons = "no lessons come" if rescued is None else f"lessons rescue {100 * rescued:.0f} %"
    return (
        f"{100 * collapsed:.0f} % of the plain groups have no right answer and {lessons}, so few groups "
        "teach anything. Better hints, a larger rollout.group_size or easier questions help; "
        "more workers hardly"
    )

"""How an attempt and its critique are worded as a lesson. No I/O."""

from consumers.evidence import trim


def forms(critique: str, attempt: str, characters: int) -> dict[str, str]:
    """The lesson by what it holds, the fullest first, the critique alone last.

    The attempt is cut to `characters`, then to half of them; an empty one is not shown.
    """
    attempt, half = attempt.strip(), characters // 2
    lessons = dict[str, str]()
    if attempt and characters:
        lessons["attempt and critique"] = _with_attempt(critique, trim(attempt, characters))
        if len(attempt) > half:
            lessons["shortened attempt and critique"] = _with_attempt(critique, trim(attempt, half))
    return lessons | {"critique alone": _alone(critique)}


def _with_attempt(critique: str, attempt: str) -> str:
    return f"""\
This attempt at the question below was wrong:
<attempt>
{attempt}
</attempt>
What is wrong with it: {critique}
Make a better attempt of your own, without this mistake."""


def _alone(critique: str) -> str:
    return f"""\
An attempt at the question below was wrong. What was wrong with it: {critique}
Make a better attempt of your own, without this mistake."""

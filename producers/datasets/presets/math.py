"""MATH (hendrycks/competition_math) and its parts, such as MATH-500: a solution's last box is the answer."""

import re

from mentor_stream.answers.final import last_box
from producers.datasets.base import DataConfig
from producers.datasets.columns import Columns
from producers.datasets.presets import Fields

QUESTION = "problem"
VERIFIER = "math"
REMEDY = "data.preset 'math' wants it; for another dataset take data.preset out."
_BARE_BOX = re.compile(r"\\boxed\s+([^\s${}.]+)")


def fields(columns: Columns, config: DataConfig) -> Fields:
    """See Preset.fields. A column `answer`, which MATH-500 has, goes before the box."""
    solution = columns.text("solution", REMEDY)
    bare = _BARE_BOX.findall(solution)
    answer = columns.text("answer", REMEDY) if columns.has("answer") else last_box(solution)
    answer = answer or (bare[-1] if bare else None)
    if not answer:
        raise columns.error(f"column 'solution' holds no \\boxed answer. {REMEDY}")
    return Fields(columns.text(QUESTION, REMEDY), answer, solution)

"""OlympiadBench (Hothan/OlympiadBench): open-ended questions of competitions in mathematics and physics.

He et al. 2024, arXiv 2402.14008. Its column `error`, a tolerance, is not used: answers are compared exactly.
"""

from producers.datasets.base import DataConfig
from producers.datasets.columns import Columns
from producers.datasets.presets import Fields

QUESTION = "question"
VERIFIER = "math"
REMEDY = "data.preset 'olympiadbench' wants it; for another dataset take data.preset out."


def fields(columns: Columns, config: DataConfig) -> Fields:
    """See Preset.fields. Several answers are one list; what a question follows on stands before it."""
    question, answers = columns.text(QUESTION, REMEDY).strip(), columns.texts("final_answer", REMEDY)
    if not any(answer.strip() for answer in answers):
        raise columns.error(f"column 'final_answer' holds no answer. {REMEDY}")
    before = columns.text("context", REMEDY).strip() if columns.has("context") else ""
    unit = columns.text("unit", REMEDY).strip() if columns.has("unit") else ""
    parts = (before, question, f"The answer is in {unit}." if unit else "")
    solution = "\n\n".join(columns.texts("solution", REMEDY)) if columns.has("solution") else None
    return Fields("\n\n".join(filter(None, parts)) if question else "", ", ".join(answers), solution)

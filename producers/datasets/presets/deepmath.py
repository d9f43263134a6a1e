"""DeepMath-103K (zwhe99/DeepMath-103K): hard mathematics with checked final answers.

Its three solutions (`r1_solution_1` ...) are a reasoning model's, thousands of words each: none is used
unless data.solution names one.
"""

from producers.datasets.base import DataConfig
from producers.datasets.columns import Columns
from producers.datasets.presets import Fields

QUESTION = "question"
VERIFIER = "math"
REMEDY = "data.preset 'deepmath' wants it; for another dataset take data.preset out."


def fields(columns: Columns, config: DataConfig) -> Fields:
    """See Preset.fields."""
    return Fields(columns.text(QUESTION, REMEDY), columns.text("final_answer", REMEDY), None)

"""GSM8K (openai/gsm8k): grade school mathematics, a solution that ends in `#### 18`."""

import re

from producers.datasets.base import DataConfig
from producers.datasets.columns import Columns
from producers.datasets.presets import Fields

QUESTION = "question"
VERIFIER = "math"
REMEDY = "data.preset 'gsm8k' wants it; for another dataset take data.preset out."
_CALCULATOR = re.compile(r"<<[^<>]*>>")


def fields(columns: Columns, config: DataConfig) -> Fields:
    """See Preset.fields. The solution is without its notes for a calculator, `<<48/2=24>>`."""
    worked, mark, answer = columns.text("answer", REMEDY).rpartition("####")
    if not mark or not answer.strip():
        raise columns.error(f"column 'answer' does not end in #### and a number. {REMEDY}")
    return Fields(columns.text(QUESTION, REMEDY), answer.strip(), _CALCULATOR.sub("", worked).strip())

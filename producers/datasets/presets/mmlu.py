"""MMLU (cais/mmlu): a question of one of 57 subjects with four options, and the number of the right one."""

from producers.datasets.base import DataConfig
from producers.datasets.columns import Columns
from producers.datasets.presets import Fields

QUESTION = "question"
VERIFIER = "choice"
REMEDY = "data.preset 'mmlu' wants it; for another dataset take data.preset out."
_LETTERS = "ABCDEFGHIJ"


def fields(columns: Columns, config: DataConfig) -> Fields:
    """See Preset.fields. The options are part of the question, the reference is the letter of one."""
    question, options = columns.text(QUESTION, REMEDY), columns.texts("choices", REMEDY)
    answer = columns.text("answer", REMEDY)
    if not 2 <= len(options) <= len(_LETTERS):
        raise columns.error(f"column 'choices' holds {len(options)} options. {REMEDY}")
    if not (answer.isdecimal() and int(answer) < len(options)):
        raise columns.error(f"column 'answer' is {answer!r}, the number of no option, from 0. {REMEDY}")
    listed = "\n".join(f"({letter}) {text.strip()}" for letter, text in zip(_LETTERS, options, strict=False))
    return Fields(f"{question.strip()}\n\n{listed}" if question.strip() else "", _LETTERS[int(answer)], None)

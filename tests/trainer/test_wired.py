"""That layers of Transformer Engine are built, fed, loaded and saved: something stands in for it here."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

STANDIN = Path(__file__).parent / "standin"
HALF = 0.5
"""Of all multiplications: the others are the reference's, which is never in FP8."""
CASES: list[tuple[str, dict[str, Any], float, list[str]]] = [
    ("qwen3", {}, HALF, ["Float8CurrentScaling hybrid"]),
    ("qwen2", {"fp8_recipe": "delayed", "fp8_format": "e4m3"}, HALF, ["TEDelayedScaling e4m3"]),
    ("llama", {"first_last_layers_bf16": 1}, 0.0, []),
]


def test_layers_of_the_engine_learn_what_plain_ones_do_and_go_on_from_their_checkpoint() -> None:
    """What stands in computes in bf16, whatever it is told: so the losses are those of bf16 to the bit."""
    asked = json.dumps([(family, options) for family, options, _, _ in CASES])
    command = [sys.executable, "-W", "ignore", "-m", "tests.trainer.wired", asked]
    path = os.pathsep.join([str(STANDIN), *sys.path[1:]])
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for (family, options, in_fp8, recipes), case in zip(CASES, found, strict=True):
        assert case["engine"] == pytest.approx(case["plain"], abs=1e-6), (family, options)
        assert case["weights"], (family, options)
        assert (case["in_fp8"], case["recipes"]) == (in_fp8, recipes)
        assert case["resumed"][0] == case["resumed"][1], (family, options)

"""The size of a model by its files."""

import json

import pytest
import torch
from safetensors.torch import save_file

from mentor_stream.sizing.weights import weights


def test_parameters_are_counted_over_all_files_of_a_model(tmp_path):
    save_file(
        {"a": torch.zeros(3, 4), "b": torch.zeros(5)}, tmp_path / "model-1.safetensors", {"format": "pt"}
    )
    save_file({"c": torch.zeros(2, 2, dtype=torch.bfloat16)}, tmp_path / "model-2.safetensors")
    found = weights(tmp_path)
    assert found
    assert found.parameters == 21
    assert found.size == sum(file.stat().st_size for file in tmp_path.iterdir())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 20,
        b"\x02" + bytes(7) + b"[]",
        b"\x02" + bytes(7) + b"{}",
        (len(text := json.dumps({"a": 5}).encode())).to_bytes(8, "little") + text,
        (len(text := json.dumps({"a": {"shape": "x"}}).encode())).to_bytes(8, "little") + text,
    ],
)
def test_what_is_no_model_has_no_size(tmp_path, content):
    (tmp_path / "model.safetensors").write_bytes(content)
    assert weights(tmp_path) is None


def test_a_place_without_files_has_no_size(tmp_path):
    assert weights(tmp_path / "nowhere") is None
    assert weights(tmp_path) is None

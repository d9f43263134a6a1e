"""Policy snapshots into live models: anew, or in place when only the numbers changed."""

from inspect import signature
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM
from transformers.utils import logging

from mentor_stream.snapshots import SnapshotError
from producers import stops

_INCIDENTAL = ("_name_or_path", "transformers_version", "torch_dtype", "dtype")


def load(path: Path, device: torch.device, dtype: str) -> Any:
    """The causal language model at `path`, ready to sample. Raises SnapshotError when it is incomplete."""
    logging.disable_progress_bar()
    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            path, dtype=dtype, local_files_only=True, output_loading_info=True
        )
    except (OSError, ValueError, SafetensorError, RuntimeError) as error:
        raise SnapshotError(f"{path} could not be loaded as a causal language model: {error}") from error
    model, loading = loaded
    if missing := sorted(loading["missing_keys"]):
        raise SnapshotError(f"{path} lacks weights: {', '.join(missing[:5])} ({len(missing)} in all)")
    if getattr(model, "_is_stateful", False) and "position_ids" not in signature(model.forward).parameters:
        # What they make of padding differs from family to family: log-probs would be wrong unnoticed.
        raise NotImplementedError(
            f"run.policy is a {type(model).__name__}: the transformers engine samples from attention models, "
            "also from those with some linear layers, but not from pure state-space models"
        )
    return model.eval().requires_grad_(False).to(device)


def swap(model: Any, path: Path) -> bool:
    """Copy the numbers at `path` into `model`; False, with the model untouched, when it does not fit.

    It fits when the files hold exactly the model's own tensors, by name and shape; one that shares its
    memory with another (tied embeddings) may be left out. Raises SnapshotError when files are gone.
    """
    live = model.state_dict()
    found = _tensors(path)
    shared = {tensor.data_ptr() for name, tensor in live.items() if name in found}
    missing = [name for name, tensor in live.items() if name not in found and tensor.data_ptr() not in shared]
    if missing or any(name not in live or live[name].shape != t.shape for name, t in found.items()):
        return False
    with torch.no_grad():
        for name, tensor in found.items():
            live[name].copy_(tensor)
    return True


def architecture(path: Path) -> dict[str, Any]:
    """The model's configuration without what says nothing about its shape or its arithmetic."""
    config = stops.read(path / "config.json")
    return {key: value for key, value in config.items() if key not in _INCIDENTAL}


def _tensors(path: Path) -> dict[str, torch.Tensor]:
    files = sorted(path.glob("*.safetensors"))
    try:
        return {name: tensor for file in files for name, tensor in load_file(file).items()}
    except (OSError, SafetensorError) as error:
        raise SnapshotError(f"snapshot {path} could not be read: {error}") from error

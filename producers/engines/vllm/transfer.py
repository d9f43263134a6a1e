"""A policy snapshot into a live vLLM model: runs inside vLLM's workers, on CPU and GPU, on every rank.

Each rank reads the files by itself, so they must lie where all of them see them.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from vllm.distributed.weight_transfer.base import (
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)
from vllm.model_executor.model_loader.reload import finalize_layerwise_reload, initialize_layerwise_reload

from producers.engines.vllm.plugin import INTACT

SHAPE = (
    "model_type",
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "rms_norm_eps",
    "rope_theta",
    "tie_word_embeddings",
)
"""Settings in which models differ and weights do not show it, or not before they are half loaded."""


@dataclass
class Init(WeightTransferInitInfo):
    """Nothing is agreed on beforehand."""


@dataclass
class Update(WeightTransferUpdateInfo):
    """Where the snapshot lies, and whether it is only looked at."""

    path: str
    only_check: bool = False


class SnapshotTransfer(WeightTransferEngine[Init, Update]):
    """Reads safetensors files a tensor at a time."""

    init_info_cls = Init
    update_info_cls = Update

    def init_transfer_engine(self, init_info: Init) -> None:
        """Nothing to connect."""

    def start_weight_update(self) -> None:
        """The weights are first touched when the new ones are there."""

    def finish_weight_update(self) -> None:
        """Nothing is left to do."""

    def update_weights(self, update_info: dict[str, Any]) -> None:
        """Load the snapshot whole. Raises ValueError, saying INTACT when no weight was touched."""
        self.receive_weights(self.parse_update_info(update_info))
        if self.device.type != "cpu":
            torch.accelerator.synchronize()

    def receive_weights(self, update_info: Update) -> None:
        """Replace the model's weights, in the memory they are in."""
        path = Path(update_info.path)
        with ExitStack() as opened:
            try:
                self._compare(path)
                paths = sorted(path.glob("*.safetensors"))
                files = [opened.enter_context(safe_open(file, framework="pt")) for file in paths]
                if not files:
                    raise ValueError("it holds no safetensors files")  # noqa: TRY301
            except Exception as error:
                raise ValueError(f"snapshot {path}, seen from vLLM: {error}. {INTACT}") from error
            if not update_info.only_check:
                self._replace(path, tensors(files))

    def _compare(self, path: Path) -> None:
        """See whether the snapshot is of the model that is served."""
        theirs, ours = json.loads((path / "config.json").read_bytes()), self.model_config.hf_config.to_dict()
        for name in SHAPE:
            if name in theirs and name in ours and theirs[name] != ours[name]:
                raise ValueError(f"its {name} is {theirs[name]}, that of the model served is {ours[name]}")

    def _replace(self, path: Path, weights: Iterator[tuple[str, torch.Tensor]]) -> None:
        initialize_layerwise_reload(self.model)
        try:
            loaded = self.model.load_weights(weights)
        finally:
            finalize_layerwise_reload(self.model, self.model_config)
        missing = sorted({name for name, _ in self.model.named_parameters()} - set(loaded or ()))
        if loaded is not None and missing:
            raise ValueError(f"snapshot {path} lacks {', '.join(missing[:5])} ({len(missing)} in all)")

    def shutdown(self) -> None:
        """Nothing is kept open."""


def tensors(files: Sequence[Any]) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor with its name, read when it is asked for."""
    for file in files:
        for name in file.keys():  # noqa: SIM118 - no mapping
            yield name, file.get_tensor(name)

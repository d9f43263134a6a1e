"""A policy snapshot into a live vLLM model: runs inside vLLM's workers, on CPU and GPU, on every rank.

Each rank reads the files by itself: from a directory that all of them see, or from object storage through the
cache of its machine, which fetches them once.
"""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
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

from mentor_stream.snapshots import Hold, StoreError, hold, missing
from mentor_stream.snapshots.attempts import beside
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

    path: str | None = None
    uri: str | None = None
    digest: str = ""
    only_check: bool = False
    config: dict[str, Any] | None = None
    """With `only_check` and the `uri` of a store: what the snapshots in it will say of their model."""


class SnapshotTransfer(WeightTransferEngine[Init, Update]):
    """Reads safetensors files a tensor at a time."""

    init_info_cls = Init
    update_info_cls = Update
    _fetch: tuple[str, Future[Hold]] | None = None
    """What is fetched beside sampling, by its digest: held, so that it is there when it is loaded."""

    def __call__(self, uri: str, digest: str) -> dict[str, Any]:
        """Fetch a snapshot beside sampling: begins with it, or says how far it is (update.Fetched).

        vLLM calls us by the name of the attribute that we are (plugin.FETCH): its own routes sample nothing
        while they work, and tell nothing but errors.
        """
        if self._fetch is None or self._fetch[0] != digest:
            self._let_go()
            self._fetch = digest, beside(partial(hold, uri, digest))
        fetched = self._fetch[1]
        if not fetched.done():
            return {"there": False}
        if (error := fetched.exception()) is None:
            return {"there": True}
        self._fetch = None
        return {"there": False, "failure": str(error), "gone": not isinstance(error, StoreError)}

    def _let_go(self) -> None:
        if self._fetch is not None:
            self._fetch[1].add_done_callback(_closed)
            self._fetch = None

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
        place = update_info.path or update_info.uri or ""
        with ExitStack() as opened:
            try:
                if update_info.config is not None:
                    self._foresee(update_info.config, place)
                    return
                held = Hold(Path(place)) if update_info.path else hold(place, update_info.digest)
                path = opened.enter_context(held)
                self._compare(json.loads((path / "config.json").read_bytes()))
                paths = sorted(path.glob("*.safetensors"))
                files = [opened.enter_context(safe_open(file, framework="pt")) for file in paths]
                if not files:
                    raise ValueError("it holds no safetensors files")  # noqa: TRY301
            except Exception as error:
                raise ValueError(f"snapshot {place}, seen from vLLM: {error}. {INTACT}") from error
            if not update_info.only_check:
                self._replace(path, tensors(files))

    def _foresee(self, config: dict[str, Any], store: str) -> None:
        """See whether snapshots in a store could be loaded, whose model is so configured."""
        self._compare(config)
        if problem := missing(store):
            raise ValueError(problem)

    def _compare(self, theirs: dict[str, Any]) -> None:
        """See whether a snapshot, by its config, is of the model that is served."""
        ours = self.model_config.hf_config.to_dict()
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
        """Let go of what was fetched."""
        self._let_go()


def _closed(fetched: Future[Hold]) -> None:
    if fetched.exception() is None:
        fetched.result().close()


def tensors(files: Sequence[Any]) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor with its name, read when it is asked for."""
    for file in files:
        for name in file.keys():  # noqa: SIM118 - no mapping
            yield name, file.get_tensor(name)

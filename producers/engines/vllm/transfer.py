"""A policy snapshot into a live vLLM model: runs inside vLLM's workers, on CPU and GPU, on every rank.

Each rank reads the files by itself: from a directory that all of them see, or from object storage through the
cache of its machine, which fetches them once. Or the trainer sends them to all ranks together (receiving.py).
"""

import json
from collections.abc import Generator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
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

from mentor_stream.snapshots import Hold, SnapshotError, StoreError, hold, missing
from mentor_stream.snapshots.attempts import beside
from mentor_stream.weights.messages import Offer
from producers.engines.vllm import receiving
from producers.engines.vllm.plugin import AGAIN, INTACT
from producers.engines.vllm.receiving import Interrupted, Place, Sender, Tensors

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
    """Where the snapshot lies, or who sends it, and whether it is only looked at."""

    path: str | None = None
    uri: str | None = None
    sender: str | None = None
    backend: str = "gloo"
    """With a `sender`."""
    digest: str = ""
    id: str = ""
    """Of this update, or this look beside sampling: with a `sender`, all ranks are told the same."""
    only_check: bool = False
    config: dict[str, Any] | None = None
    """With `only_check`, and no `path`: what the snapshots to come will say of their model."""

    @property
    def place(self) -> str:
        """Where it comes from, for errors."""
        return self.path or self.uri or self.sender or ""


class SnapshotTransfer(WeightTransferEngine[Init, Update]):
    """Reads safetensors files a tensor at a time, or has them sent."""

    init_info_cls = Init
    update_info_cls = Update
    _fetch: tuple[str, Future[Hold | Offer]] | None = None
    """What is fetched beside sampling, by its digest: held, so that it is there when it is loaded. Or what is
    offered to be sent, by the id of the look at it."""

    def __call__(self, **source: str) -> dict[str, Any]:
        """Fetch a snapshot beside sampling, or see that it can be sent: begins with it, or says how far it is
        (update.Fetched).

        vLLM calls us by the name of the attribute that we are (plugin.FETCH): its own routes sample nothing
        while they work, and tell nothing but errors.
        """
        update = Update(**source)
        name = update.id or update.digest
        if self._fetch is None or self._fetch[0] != name:
            self._let_go()
            work = partial(hold, update.uri, update.digest) if update.uri else partial(self._look, update)
            self._fetch = name, beside(work)
        fetched = self._fetch[1]
        if not fetched.done():
            return {"there": False}
        if (error := fetched.exception()) is None:
            return {"there": True}
        self._fetch = None
        return {"there": False, "failure": str(error), "gone": not isinstance(error, StoreError)}

    def _look(self, update: Update) -> Offer:
        """See whether the trainer can send it, and that it is of this model."""
        offer = receiving.look(self._sender(update))
        try:
            self._compare(offer.config)
        except ValueError as error:
            raise SnapshotError(f"snapshot of {update.place}, seen from vLLM: {error}") from error
        return offer

    def _sender(self, update: Update) -> Sender:
        if update.backend == "nccl" and self.device.type != "cuda":
            why = f"this server has no GPU for NCCL but {self.device.type}: set weights to 'gloo'"
            raise SnapshotError(why)
        return Sender(update.sender or "", update.digest, update.backend)

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
        place = update_info.place
        with ExitStack() as opened:
            try:
                if update_info.config is not None:
                    self._foresee(update_info.config, update_info.uri)
                    return
                source = self._sent if update_info.sender else self._read
                weights = opened.enter_context(source(update_info))
            except Exception as error:
                again = f" {AGAIN}" if isinstance(error, StoreError) else ""
                raise ValueError(f"snapshot {place}, seen from vLLM: {error}. {INTACT}{again}") from error
            if not update_info.only_check:
                try:
                    self._replace(place, weights)
                except Interrupted as error:
                    raise ValueError(f"{AGAIN} {error}") from error  # first: errors are cut

    @contextmanager
    def _read(self, update: Update) -> Generator[Tensors]:
        """The weights of a snapshot on this machine, or in a store."""
        held = Hold(Path(update.path)) if update.path else hold(update.uri or "", update.digest)
        with held as path, ExitStack() as opened:
            self._compare(json.loads((path / "config.json").read_bytes()))
            paths = sorted(path.glob("*.safetensors"))
            files = [opened.enter_context(safe_open(file, framework="pt")) for file in paths]
            if not files:
                raise ValueError("it holds no safetensors files")
            yield tensors(files)

    @contextmanager
    def _sent(self, update: Update) -> Generator[Tensors]:
        """The weights as the trainer sends them, the first of which are here."""
        parallel = self.parallel_config
        rank = parallel.data_parallel_index * parallel.world_size + parallel.rank
        place = Place(rank, parallel.world_size_across_dp)
        with receiving.arriving(self._sender(update), update.id, place, self.device) as arrival:
            self._compare(arrival.offer.config)
            yield arrival.begin()

    def _foresee(self, config: dict[str, Any], store: str | None) -> None:
        """See whether snapshots that are to come could be loaded, whose model is so configured."""
        self._compare(config)
        if store and (problem := missing(store)):
            raise ValueError(problem)

    def _compare(self, theirs: dict[str, Any]) -> None:
        """See whether a snapshot, by its config, is of the model that is served."""
        ours = self.model_config.hf_config.to_dict()
        for name in SHAPE:
            if name in theirs and name in ours and theirs[name] != ours[name]:
                raise ValueError(f"its {name} is {theirs[name]}, that of the model served is {ours[name]}")

    def _replace(self, place: str, weights: Tensors) -> None:
        initialize_layerwise_reload(self.model)
        try:
            loaded = self.model.load_weights(weights)
        finally:
            finalize_layerwise_reload(self.model, self.model_config)
        missing = sorted({name for name, _ in self.model.named_parameters()} - set(loaded or ()))
        if loaded is not None and missing:
            raise ValueError(f"snapshot {place} lacks {', '.join(missing[:5])} ({len(missing)} in all)")

    def shutdown(self) -> None:
        """Let go of what was fetched."""
        self._let_go()


def _closed(fetched: Future[Hold | Offer]) -> None:
    if fetched.exception() is None and isinstance(held := fetched.result(), Hold):
        held.close()


def tensors(files: Sequence[Any]) -> Tensors:
    """Every tensor with its name, read when it is asked for."""
    for file in files:
        for name in file.keys():  # noqa: SIM118 - no mapping
            yield name, file.get_tensor(name)

"""Snapshots as a trainer leaves them, and what a server gets of them."""

import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file

from mentor_stream import snapshots
from mentor_stream.snapshots import Snapshot
from mentor_stream.weights.messages import BUCKET_BYTES
from producers.engines.vllm import receiving
from producers.engines.vllm.child import free_port
from producers.engines.vllm.receiving import Place, Sender

CPU = torch.device("cpu")
ENDS = (sys.executable, "-m", "tests.weights.ends")
Files = list[dict[str, torch.Tensor]]


def where() -> str:
    """An address that nobody has."""
    return f"127.0.0.1:{free_port()}"


def large() -> Files:
    """Two files of some 170 MB: four buckets, one of which a tensor does not fit in."""
    torch.manual_seed(0)
    return [
        {
            "a.norm": torch.randn(7).to(torch.bfloat16),
            "b.odd": torch.arange(5, dtype=torch.uint8),
            "c.large": torch.randn(7, BUCKET_BYTES // 14),
            "d.scalar": torch.tensor(3.5),
            "e.none": torch.empty(0, 4),
        },
        {
            "f.bf16": torch.randn(64, BUCKET_BYTES // 256).to(torch.bfloat16),
            "g.fp16": torch.randn(33).to(torch.float16),
            "h.ids": torch.arange(2**40, 2**40 + 9),
        },
    ]


def small(seed: int = 0) -> Files:
    """One file of a few bytes."""
    torch.manual_seed(seed)
    return [{"a": torch.randn(3, 5), "b": torch.randn(4).to(torch.bfloat16)}]


def write(directory: Path, files: Files, version: int = 1) -> Snapshot:
    """A snapshot of these files."""

    def fill(draft: Path) -> None:
        (draft / "config.json").write_text('{"model_type": "llama", "vocab_size": 3}')
        for number, tensors in enumerate(files):
            save_file(tensors, draft / f"model-{number}.safetensors")

    return snapshots.write(directory, version, fill)


def received(
    where: str, digest: str, ask_id: str | None = None, place: Place | None = None
) -> dict[str, torch.Tensor]:
    """All that one rank of a server gets over gloo."""
    sender = Sender(where, digest, "gloo")
    with receiving.arriving(sender, ask_id or secrets.token_hex(16), place or Place(), CPU) as arrival:
        return dict(arrival.begin())


def different(found: Mapping[str, torch.Tensor], files: Files) -> list[str]:
    """Names of the tensors that are not those, bit for bit, in format or in shape."""
    wanted = {name: tensor for tensors in files for name, tensor in tensors.items()}
    return [
        name
        for name in found.keys() | wanted.keys()
        if name not in found or name not in wanted or _facts(found[name]) != _facts(wanted[name])
    ]


def _facts(tensor: torch.Tensor) -> tuple[torch.dtype, torch.Size, bytes]:
    return tensor.dtype, tensor.shape, tensor.flatten().view(torch.uint8).numpy().tobytes()

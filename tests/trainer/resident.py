"""How much memory it takes to read and to write a model of 200 MB, in a process of its own.

It prints the bytes of the model and of its largest tensor, and those by which the process grew at most.
"""

import json
import sys
from collections.abc import Callable
from math import prod
from pathlib import Path

import torch

from trainer.hf import parameters, tensorfiles
from trainer.model import architecture, cpu

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 8,
    "hidden_size": 512,
    "num_attention_heads": 8,
    "intermediate_size": 2048,
    "vocab_size": 16000,
}


def write(policy: Path, shapes: tensorfiles.Shapes) -> None:
    """Zeros, but each page is written."""
    tensors = ((name, torch.zeros(shape)) for name, shape in shapes.items())
    tensorfiles.write(policy, shapes, "float32", tensors, tensorfiles.SHARD_BYTES)


def resident(kind: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(kind):
            return int(line.split()[1]) * 1024
    raise LookupError(kind)


def growth(work: Callable[[], None]) -> int:
    """Bytes by which the process was larger than before at its largest."""
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # from here on is the largest counted
    work()
    return resident("VmHWM") - before


def main(directory: Path) -> None:
    cpu.install()
    from trainer import ranks
    from trainer.config import TrainerConfig
    from trainer.hf import conversion
    from trainer.model import gpt

    policy, out = directory / "in", directory / "out"
    for path in (policy, out):
        path.mkdir()
    (policy / "config.json").write_text(json.dumps(CONFIG))
    shape = architecture.read(policy)
    shapes = parameters.shapes(shape)
    write(policy, shapes)
    ranks.start(seed=0)
    network = gpt.build(shape, TrainerConfig()).module
    sizes = [4 * prod(each) for each in shapes.values()]
    found = {
        "model": sum(sizes),
        "largest": max(sizes),
        "load": growth(lambda: conversion.load(policy, shape, network)),
        "export": growth(lambda: conversion.save(policy, shape, conversion.gather(shape, network), out)),
    }
    sys.stdout.write(json.dumps(found) + "\n")
    ranks.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

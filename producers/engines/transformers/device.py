"""Where the model is: a torch device by the name that a config gives it."""

from collections.abc import Iterator

import torch


def named(name: str) -> torch.device:
    """The device; `auto` is a GPU when there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(name)


def absent(name: str) -> Iterator[str]:
    """Why this machine does not have the device of `rollout.engine.device`."""
    way_out = "Set it to cpu, or to auto, which takes a GPU where there is one."
    try:
        device = named(name)
    except RuntimeError:
        yield f"rollout.engine.device is {name!r}: torch knows no such device. {way_out}"
        return
    if device.type == "cuda" and not 0 <= (device.index or 0) < torch.cuda.device_count():
        yield f"rollout.engine.device is {name!r}: torch sees {torch.cuda.device_count()} GPUs. {way_out}"

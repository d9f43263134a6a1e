"""Sampling in this process with Hugging Face transformers, on CPU or GPU: the embedded default.

engine.py is the way in; weights.py loads and swaps models, decoding.py samples, choice.py picks a token,
device.py says where.
Any attention model that transformers knows, also hybrids with linear layers; no pure state-space models.
"""

from collections.abc import Iterable

from producers.engines.base import Demand, Engine
from producers.engines.transformers.config import Config

__all__ = ["Config", "build", "check"]


def build(config: Config, demand: Demand | None = None) -> Engine:
    """An engine without weights: load some before it can sample. It takes demands as they come."""
    from producers.engines.transformers.engine import TransformersEngine

    return TransformersEngine(config)


def check(config: Config) -> Iterable[str]:
    """Why the device cannot be had on this machine."""
    if config.device in ("auto", "cpu"):
        return []
    from producers.engines.transformers.device import absent

    return absent(config.device)

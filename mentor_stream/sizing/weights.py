"""How large a model is, read off its files' headers."""

import json
import math
from pathlib import Path
from typing import NamedTuple

HEADER_BYTES = 100 * 2**20
"""No safetensors file has a longer header."""


class Weights(NamedTuple):
    """Of one model."""

    parameters: int
    size: int
    """Bytes on disk."""


def weights(policy: Path) -> Weights | None:
    """Of a Hugging Face directory; None where there is none to be read.

    The header's form: https://huggingface.co/docs/safetensors.
    """
    try:
        files = sorted(policy.glob("*.safetensors"))
        parameters = sum(map(_parameters, files))
        return Weights(parameters, sum(file.stat().st_size for file in files)) if parameters else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _parameters(file: Path) -> int:
    with file.open("rb") as source:
        length = int.from_bytes(source.read(8), "little")
        if length > HEADER_BYTES:
            raise ValueError(f"{file} is no safetensors file")
        header = json.loads(source.read(length))
    return sum(math.prod(entry["shape"]) for name, entry in header.items() if name != "__metadata__")

"""Rotary positions: what config.json says of them, and the frequencies that follow.

The frequencies are those of transformers to the last bit: at position 100,000 a relative error of 1e-7 turns
the fastest heads by a hundredth of a radian. Reads JSON only; torch is imported by whoever wants frequencies.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

_EVERYWHERE = ("type", "rope_type", "rope_theta", "partial_rotary_factor", "original_max_position_embeddings")
_KINDS = {
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
    "yarn": (
        "factor", "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate",
    ),
}  # fmt: skip
"""The settings that each kind of scaling knows."""
_NEEDED = ("factor", "low_freq_factor", "high_freq_factor")


@dataclass(frozen=True)
class Rope:
    """Rotary positions of one kind, and the settings of all kinds."""

    theta: float
    kind: str = "default"
    factor: float = 1.0
    original_positions: int = 0
    """Positions that the model knew before it was scaled."""
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    attention_factor: float = 1.0
    """What queries and keys are both multiplied by."""

    def frequencies(self, head_dim: int) -> "Tensor":
        """Radians a position, of each pair of a head's dimensions [head_dim / 2], float32."""
        import torch

        exponents = torch.arange(0, head_dim, 2, dtype=torch.int64).float() / head_dim
        if self.kind == "yarn":
            return self._yarn(self.theta**exponents, head_dim)
        frequencies = 1.0 / self.theta**exponents
        if self.kind == "linear":
            frequencies /= self.factor
        return self._llama3(frequencies) if self.kind == "llama3" else frequencies

    def _llama3(self, frequencies: "Tensor") -> "Tensor":
        """Slow ones are divided by the factor, fast ones stay, those between are a mixture."""
        low, high = self.low_freq_factor, self.high_freq_factor
        wavelengths = 2 * math.pi / frequencies
        slow, fast = wavelengths > self.original_positions / low, wavelengths < self.original_positions / high
        share = (self.original_positions / wavelengths - low) / (high - low)
        mixed = (1 - share) * frequencies / self.factor + share * frequencies
        return frequencies.where(fast, mixed.where(~slow, frequencies / self.factor))

    def _yarn(self, periods: "Tensor", head_dim: int) -> "Tensor":
        """Each between itself and itself over the factor, by the turns it makes in the original positions.

        arXiv 2309.00071, section 3.2.
        """
        import torch

        first, last = (self._dimension_of(turns, head_dim) for turns in (self.beta_fast, self.beta_slow))
        if self.truncate:
            first, last = math.floor(first), math.ceil(last)
        first, last = max(first, 0), min(last, head_dim - 1)
        width = last - first if first != last else 0.001
        kept = 1 - ((torch.arange(head_dim // 2, dtype=torch.float32) - first) / width).clamp(0, 1)
        return 1.0 / (self.factor * periods) * (1 - kept) + 1.0 / periods * kept

    def _dimension_of(self, turns: float, head_dim: int) -> float:
        """The dimension that turns so often within the original positions."""
        wavelength = self.original_positions / (turns * 2 * math.pi)
        return head_dim * math.log(wavelength) / (2 * math.log(self.theta))


def read(config: Mapping[str, Any], positions: int) -> Rope:
    """Rotary positions of a config.json without problems, of a model with so many positions."""
    rope = {key: value for key, value in _settings(config).items() if value is not None}
    given = {key: rope[key] for key in _KINDS[rope["rope_type"]] if key in rope and "mscale" not in key}
    if rope["rope_type"] == "yarn":
        given.setdefault("attention_factor", _attention_factor(rope))
    # An outer value wins, as in transformers.
    original = config.get("original_max_position_embeddings") or rope.get("original_max_position_embeddings")
    return Rope(
        theta=float(rope.get("rope_theta", 10_000.0)),
        kind=rope["rope_type"],
        original_positions=original or positions,
        **given,
    )


def problems(config: Mapping[str, Any]) -> Iterator[str]:
    """What of the rotary positions is not supported or makes no sense."""
    rope = _settings(config)
    kind = rope["rope_type"]
    if not isinstance(kind, str) or kind not in _KINDS:
        yield f"rotary type {kind} is not supported, only {', '.join(_KINDS)}"
        return
    if rope.get("partial_rotary_factor") not in (None, 1):
        yield f"partial_rotary_factor {rope['partial_rotary_factor']} is not supported, only 1"
    yield from _problems_of(kind, rope)


def _problems_of(kind: str, rope: Mapping[str, Any]) -> Iterator[str]:
    for key, value in rope.items():
        if value is None or key in ("type", "rope_type", "partial_rotary_factor", "truncate"):
            continue
        if key not in (*_EVERYWHERE, *_KINDS[kind]):
            # vLLM reads attn_factor and transformers does not: sampler and trainer would differ.
            yield f"{key} is not supported in rotary type {kind}"
        elif isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            yield f"rope's {key} is {value!r}, expected a number above 0"
        elif value == 0 and "mscale" not in key:
            yield f"rope's {key} is 0, expected a number above 0"
    for key in _NEEDED:
        if key in _KINDS[kind] and rope.get(key) is None:
            yield f"{key} is missing in rotary type {kind}"
    low, high = rope.get("low_freq_factor"), rope.get("high_freq_factor")
    if kind == "llama3" and isinstance(low, int | float) and isinstance(high, int | float) and low >= high:
        yield f"rope's low_freq_factor is {low}, expected less than high_freq_factor ({high})"


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """In one form: transformers 5 nests them, 4 spread them over the config."""
    nested = config.get("rope_scaling") or config.get("rope_parameters") or {}
    rope = {"rope_type": nested.get("type", "default"), **nested}
    for key in ("rope_theta", "partial_rotary_factor"):
        if key in config:
            rope.setdefault(key, config[key])
    return rope


def _attention_factor(rope: Mapping[str, Any]) -> float:
    def growth(weight: float) -> float:
        return 0.1 * weight * math.log(rope["factor"]) + 1.0 if rope["factor"] > 1 else 1.0

    over, under = rope.get("mscale"), rope.get("mscale_all_dim")
    return growth(over) / growth(under) if over and under else growth(1.0)

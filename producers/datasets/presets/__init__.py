"""Known datasets: what of their columns is question, reference and solution. One a module, chosen by name."""

import importlib
from typing import NamedTuple, Protocol, cast

from producers.datasets.base import DataConfig, PresetName
from producers.datasets.columns import Columns


class Fields(NamedTuple):
    """What a row needs, of whatever columns."""

    question: str
    answer: str
    solution: str | None


class Preset(Protocol):
    """One known dataset."""

    QUESTION: str
    """The column with the question."""
    VERIFIER: str
    """The kind of verifier that reads its references."""

    def fields(self, columns: Columns, config: DataConfig) -> Fields:
        """One record's fields. Raises DatasetError for what such a dataset does not hold."""
        ...


def named(name: PresetName) -> Preset:
    """The preset of this name."""
    return cast(Preset, importlib.import_module(f"producers.datasets.presets.{name}"))

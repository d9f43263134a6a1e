"""The declared metrics as text for people: docs/metrics.md holds it, and a test that it still does."""

from collections.abc import Iterable

from mentor_stream.metrics import catalogue
from mentor_stream.metrics.measure import EVERY, Measure

COMPONENTS = (EVERY, *catalogue.COMPONENTS)


def markdown() -> str:
    """All of them, a section for each component."""
    return "\n\n".join(_section(component) for component in COMPONENTS) + "\n"


def document() -> list[dict[str, object]]:
    """All of them, for a program."""
    return [
        {
            "name": measure.name,
            "kind": measure.kind.value,
            "unit": measure.unit,
            "component": measure.component,
            "labels": list(measure.labels),
            "keys": list(measure.keys),
            "means": measure.means,
            "normal": measure.normal,
            "act": measure.act,
        }
        for measure in catalogue.ALL
    ]


def _section(component: str) -> str:
    title = "Every component" if component == EVERY else f"The {component}"
    return "\n\n".join([f"### {title}", *map(_entry, _own(component))])


def _own(component: str) -> Iterable[Measure]:
    return (measure for measure in catalogue.ALL if measure.component == component)


def _entry(measure: Measure) -> str:
    unit = f", {measure.unit}" if measure.unit else ""
    labels = f", by {' and '.join(f'`{label}`' for label in measure.labels)}" if measure.labels else ""
    keys = f"; on the topic {', '.join(f'`{key}`' for key in measure.keys)}" if measure.keys else ""
    return (
        f"#### `{measure.name}`\n\n"
        f"{measure.kind.value.capitalize()}{unit}{labels}{keys}. {_sentence(measure.means)}\n"
        f"*Normal:* {measure.normal}. *Otherwise:* {_sentence(measure.act)}"
    )


def _sentence(text: str) -> str:
    whole = text[0].upper() + text[1:]
    return whole if whole.endswith((".", "!", "?")) else f"{whole}."

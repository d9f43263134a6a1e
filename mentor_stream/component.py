"""What a component is, and how the command line finds the ones that are installed.

A component registers itself under the entry point group `mentor_stream.components`; nothing here
imports producers, consumers or trainer.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from mentor_stream import broker, snapshots
from mentor_stream.config import Config, ConfigError, RunConfig, Section, load, load_part
from mentor_stream.metrics.listening import TelemetryConfig
from mentor_stream.supervisor.config import SupervisorConfig
from mentor_stream.topics import TopicsConfig

_OURS = ("mentor_stream", "schemas", "producers", "consumers", "trainer")
"""What of it is missing is a defect, not a package that is not installed."""


def _no_problems(_: Config) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class Component:
    """One kind of process. Its module imports no extra's libraries: `run` does."""

    name: str
    sections: tuple[type[Section], ...]
    """Sections of the config it reads, beside [run]."""
    run: Callable[[Config], None]
    """The process: returns when its work is over or it was asked to stop, raises when it cannot go on."""
    check: Callable[[Config], Iterable[str]] = _no_problems
    """Problems that validation of single settings cannot see: missing files, impossible combinations."""


@cache
def components() -> dict[str, Component]:
    """All installed components by name."""
    found = entry_points(group="mentor_stream.components")
    return {entry.name: entry.load() for entry in sorted(found, key=lambda e: e.name)}


def load_config(path: Path) -> Config:
    """The config with the sections of every component and those that belong to none. Raises ConfigError."""
    return load(path, _sections())


def load_sections(path: Path, *kinds: type[Section]) -> Config:
    """These sections of a config, which needs no others. Raises ConfigError."""
    return load_part(path, kinds, [kind.table for kind in _sections()])


def _sections() -> list[type[Section]]:
    own = [kind for component in components().values() for kind in component.sections]
    return [RunConfig, *own, SupervisorConfig, TelemetryConfig, TopicsConfig]


def check(config: Config, which: Iterable[Component] | None = None) -> None:
    """Check [run] and `which` components, all by default. Raises ConfigError with every problem once."""
    chosen = components().values() if which is None else which
    problems = list(_run_problems(config))
    problems += [problem for component in chosen for problem in _component_problems(component, config)]
    if problems:
        raise ConfigError("\n".join(dict.fromkeys(problems)))


def _component_problems(component: Component, config: Config) -> Iterator[str]:
    """A machine that runs one component has the packages of that one alone."""
    try:
        yield from component.check(config)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in _OURS:
            raise
        yield (
            f"{component.name}: it cannot be checked here, where the package {error.name} is missing. "
            "Install what it needs (README: the extras), or check what this machine runs with --component."
        )


def checkable(config: Config) -> list[Component]:
    """The components whose sections are all there: of a malformed config those that can be checked."""
    known = config.sections.keys()
    if not {RunConfig.table, TopicsConfig.table} <= known:
        return []
    return [c for c in components().values() if known >= {section.table for section in c.sections}]


def _run_problems(config: Config) -> Iterator[str]:
    run, topics = config.run, config.of(TopicsConfig).specs(config.run.name)
    if obstacle := _obstacle(run.directory):
        yield f"run.directory is {str(run.directory)!r}: {obstacle}. Name a directory, made when missing."
    if run.snapshots is not None:
        yield from _snapshot_problems(run.snapshots)
    try:
        broker.check(run.broker, copies=max(topic.replication for topic in topics))
    except broker.BrokerError as error:
        yield f"{error}."


def _snapshot_problems(setting: str) -> Iterator[str]:
    """What the text says. Whether the store can be used is for those to see who use it."""
    yield from snapshots.problems(setting)
    place = snapshots.local(setting)
    if place is not None and setting.strip() and (obstacle := _obstacle(place)):
        yield f"run.snapshots is {setting!r}: {obstacle}. Name a directory, made when missing."


def _obstacle(directory: Path) -> str | None:
    """Why this directory cannot be written to or made, or None."""
    try:
        nearest = next(place for place in (directory, *directory.parents) if place.exists())
    except OSError as error:
        return str(error)
    if not nearest.is_dir():
        return f"{nearest} is a file" if nearest != directory else "it is a file"
    return None if os.access(nearest, os.W_OK | os.X_OK) else f"{nearest} cannot be written to"

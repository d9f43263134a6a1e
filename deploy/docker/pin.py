# ruff: noqa: INP001  (a script)
"""Prints constraints.txt: every package that an image installs, at the version that is installed here.

    python deploy/docker/pin.py > deploy/docker/constraints.txt

To be run in the environment of the tests, so that images hold what was tested. Transformer Engine and what it
requires exist on machines with CUDA only: its version stands here.
"""

import re
import sys
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

DOCKERFILE = Path(__file__).parent / "Dockerfile"
ELSEWHERE = {"gpu": ["transformer-engine==2.11.0"]}
"""By extra: what cannot be installed here."""


def extras() -> set[str]:
    """Of mentor-stream, those that some image installs."""
    named = re.findall(r"/wheels/\*\.whl\)\[([a-z,]+)\]", DOCKERFILE.read_text())
    return {extra for group in named for extra in group.split(",")}


def required(name: str, wanted: frozenset[str], found: dict[str, Version]) -> None:
    """Add to `found` what the distribution with these extras needs, all the way down."""
    for requirement in map(Requirement, distribution(name).requires or ()):
        environments = [{"extra": extra} for extra in wanted or {""}]
        if requirement.marker and not any(map(requirement.marker.evaluate, environments)):
            continue
        key = canonicalize_name(requirement.name)
        if key in found and not requirement.extras:
            continue
        found[key] = Version(Version(distribution(key).version).public)
        required(key, frozenset(requirement.extras), found)


def main() -> None:
    """Print them in the order of their names."""
    found: dict[str, Version] = {}
    required("mentor-stream", frozenset(extras() - set(ELSEWHERE)), found)
    lines = [f"{name}=={version}" for name, version in found.items()]
    lines += [line for extra in extras() & set(ELSEWHERE) for line in ELSEWHERE[extra]]
    sys.stdout.write("# made by pin.py: what the images install, at the versions that the tests run with\n")
    sys.stdout.writelines(f"{line}\n" for line in sorted(lines))


if __name__ == "__main__":
    main()

"""deploy/docker/Dockerfile, read as far as it is written: an instruction a line, continuations joined."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "deploy" / "docker"
DOCKERFILE = DOCKER / "Dockerfile"


@dataclass
class Stage:
    """From one FROM to the next."""

    name: str
    base: str
    instructions: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def all(self, instruction: str) -> list[str]:
        return [text for name, text in self.instructions if name == instruction]


def stages() -> dict[str, Stage]:
    """In their order."""
    text = re.sub(r"\\\n\s*", " ", DOCKERFILE.read_text())
    found: dict[str, Stage] = {}
    for line in text.splitlines():
        instruction, _, rest = line.strip().partition(" ")
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            found[name] = Stage(name, base)
        elif found and instruction.isupper():
            [*found.values()][-1].instructions.append((instruction, rest))
    return found


def targets() -> dict[str, Stage]:
    """The stages that are images: what they begin with is put before their own instructions."""
    known = stages()
    images: dict[str, Stage] = {}
    for stage in known.values():
        if stage.all("CMD"):
            before = known[stage.base] if stage.base in known else Stage("", stage.base)
            images[stage.name] = Stage(stage.name, before.base, [*before.instructions, *stage.instructions])
    return images


def defaults() -> dict[str, str]:
    """Arguments before the first FROM."""
    head = DOCKERFILE.read_text().partition("\nFROM ")[0]
    return dict(re.findall(r"^ARG (\w+)=(\S+)$", head, re.MULTILINE))


def words(form: str) -> list[str]:
    """Of ENTRYPOINT and CMD."""
    return json.loads(form)

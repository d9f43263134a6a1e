"""Which libraries the interpreter of the programs has: one that it lacks is nobody's wrong answer."""

from collections.abc import Sequence

from producers.rewards.base import Unscorable
from producers.rewards.code.config import Config
from producers.rewards.code.execution import Job, execute
from producers.rewards.code.sandbox import Sandbox
from producers.rewards.code.watch import Allowance

_ALLOWED = Allowance(10, 60, 10, 60, 1_000_000)


class Libraries:
    """Looks for each once, in the sandbox, without importing it."""

    def __init__(self, sandbox: Sandbox, config: Config) -> None:
        self._sandbox, self._config = sandbox, config
        self._there: dict[str, bool] = {}

    def require(self, names: Sequence[str]) -> None:
        """Raises Unscorable that names the missing ones, NotStarted."""
        new = [name for name in names if name not in self._there]
        if new:
            missing = self._missing(new)
            self._there |= {name: name not in missing for name in new}
        if missing := [name for name in names if not self._there[name]]:
            python = self._config.python
            raise Unscorable(
                f"{', '.join(missing)}: not installed for programs. "
                + (f"Install it for {python}." if python else "Set python to an interpreter that has it.")
            )

    def _missing(self, names: Sequence[str]) -> list[str]:
        look = f"from importlib.util import find_spec\nprint(*(n for n in {names!r} if find_spec(n) is None))"
        run = execute(self._sandbox, Job("", look), _ALLOWED)
        if run.end != "left" or run.status:
            raise Unscorable(f"libraries cannot be looked for: {run.errors.decode(errors='replace')[-300:]}")
        return run.output.decode().split()

"""Right when the program does what tests that are Python code ask for: HumanEval's, MBPP's, BigCodeBench's.

config.py      the options
verifier.py    start here: the verdict
reference.py   the tests that a reference holds
completion.py  which program a completion gives
hearing.py     the program before its tests, once
libraries.py   which libraries the programs here have
inside/        the other side: runs in the sandboxes, which are those of the verifier `code`

The tests run in one sandbox and the program in another. What the tests call is a stand-in, whose calls go
through this process as plain values. So neither tests nor verdict are ever in the program's interpreter:
whatever it does to that, it can do no more than give answers. `isolation = "shared"` gives this up.
"""

from collections.abc import Iterable

from producers.rewards.base import Reward
from producers.rewards.code.starting import problems
from producers.rewards.script.config import Config
from producers.rewards.script.verifier import ScriptReward, clock_seconds

__all__ = ["Config", "build", "check", "clock_seconds"]


def build(config: Config) -> Reward:
    """The verifier. Raises ConfigError when its sandbox cannot be started here."""
    return ScriptReward(config)


def check(config: Config) -> Iterable[str]:
    """Why the sandbox cannot be started here, and how to get there."""
    return problems(config)

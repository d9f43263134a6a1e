"""Right when the program in the last block of code passes all tests of the reference.

config.py       the options
verifier.py     start here: what each test came to, and the verdict
trial.py        a program against its tests, a run of the sandbox for each
program.py      which program a completion gives, and the names that it may take for granted
comparison.py   whether what was printed or returned is what was expected
execution.py    one run: start it, feed it, have it watched, end it
watch.py        what is read of it, what it may use, and how it ended
conversation.py one that is told lines as it goes, and answers
starting.py     a sandbox that was seen to start on this machine, or why there is none
sandbox.py      what it runs in: bubblewrap or bare limits, as command lines
syscalls.py     the system calls that are refused in there
runner.py       the other side: runs inside, next to the program

What a program should print or return never enters the sandbox: there it is only run. The verdict is made
outside, of bytes. Whatever a program does to its interpreter, it can do no more than give an answer.
"""

from collections.abc import Iterable

from producers.rewards.base import Reward
from producers.rewards.code.config import Config
from producers.rewards.code.starting import problems
from producers.rewards.code.verifier import CodeReward, clock_seconds

__all__ = ["Config", "build", "check", "clock_seconds"]


def build(config: Config) -> Reward:
    """The verifier. Raises ConfigError when its sandbox cannot be started here."""
    return CodeReward(config)


def check(config: Config) -> Iterable[str]:
    """Why the sandbox cannot be started here, and how to get there."""
    return problems(config)

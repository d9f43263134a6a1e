"""The verdict on a completion: right when its program meets every test of the reference."""

from functools import lru_cache

import schemas
from producers.rewards.base import Judgement, Unscorable
from producers.rewards.code.sandbox import NotStarted
from producers.rewards.code.starting import ready
from producers.rewards.code.trial import CLOCK_FACTOR, check_the_machine
from producers.rewards.code.watch import START_SECONDS
from producers.rewards.script.completion import known_program, program_of
from producers.rewards.script.config import Config
from producers.rewards.script.hearing import Hearing, heard
from producers.rewards.script.libraries import Libraries
from producers.rewards.script.reference import Script, read_script

REMEMBERED = 64
"""Questions whose own solution need not be tried again."""


def clock_seconds(config: Config) -> float:
    """Most seconds by the clock for one completion: its program and the known one, each perhaps twice."""
    return 2 * (CLOCK_FACTOR * (config.total_seconds + 3 * config.test_seconds) + 4 * START_SECONDS)


class ScriptReward:
    """Trouble of sandbox, libraries or tests is nobody's answer: Unscorable.

    Before the first program of a question is condemned, the dataset's own solution is tried, if there is one:
    tests that it does not meet here say nothing of anybody's program.
    """

    def __init__(self, config: Config) -> None:
        self._config, self._sandbox = config, ready(config)
        self._libraries = Libraries(self._sandbox, config)
        self._flaw = lru_cache(REMEMBERED)(self._flaw_of)

    def score(self, query: schemas.Query, completion: str) -> Judgement:
        """See Reward.score."""
        try:
            script = read_script(query.reference)
        except ValueError as error:
            raise Unscorable(str(error)) from error
        try:
            self._libraries.require(script.libraries)
            program = program_of(completion, script)
            if program is None:
                return Judgement(False, 0.0, "gives no program")
            found = self._heard(script, program)
            if not found.right and (flaw := self._flaw(query.reference, query.solution)):
                raise Unscorable(f"the question's own solution fails here: {flaw}")
        except NotStarted as error:
            raise Unscorable(str(error)) from error
        return self._judged(found)

    def _heard(self, script: Script, program: str) -> Hearing:
        """Once more where the machine may be to blame. Raises NotStarted, Unscorable."""
        found = heard(self._sandbox, self._config, script, program, self._config.total_seconds)
        if found.doubtful:
            found = heard(self._sandbox, self._config, script, program, self._config.test_seconds)
            if found.doubtful:
                check_the_machine(self._sandbox, self._config)
        return found

    def _flaw_of(self, reference: str, solution: str | None) -> str:
        """What goes wrong with the solution that is known; nothing, too, where none is."""
        script = read_script(reference)
        program = known_program(solution, script)
        found = self._heard(script, program) if program else None
        return "" if found is None or found.right else found.trouble

    def _judged(self, found: Hearing) -> Judgement:
        if found.right:
            return Judgement(True, 1.0, f"passes {found.total} tests")
        if self._config.reward == "all" or not found.total:
            return Judgement(False, 0.0, found.trouble)
        remark = f"passes {found.passed} of {found.total} tests; {found.trouble}"
        return Judgement(False, min(found.passed, found.total) / found.total, remark)

"""The verdict on a completion: right when its program passes every test of the reference."""

import json
from itertools import islice

import schemas
from mentor_stream.answers.programs import Task, function_name, read_task
from producers.rewards.base import Judgement, Unscorable
from producers.rewards.code.config import Config
from producers.rewards.code.program import last_program
from producers.rewards.code.sandbox import NotStarted
from producers.rewards.code.starting import ready
from producers.rewards.code.trial import CLOCK_FACTOR, Outcome, Trial, arguments, check_the_machine
from producers.rewards.code.watch import START_SECONDS


def clock_seconds(config: Config) -> float:
    """Most seconds by the clock for one completion; judging/ gives it that many and asks for each alone."""
    return CLOCK_FACTOR * (config.total_seconds + 3 * config.test_seconds) + 2 * START_SECONDS


class CodeReward:
    """Runs programs in a sandbox. Trouble of the sandbox is nobody's answer: Unscorable."""

    def __init__(self, config: Config) -> None:
        self._config, self._sandbox = config, ready(config)

    def score(self, query: schemas.Query, completion: str) -> Judgement:
        """See Reward.score."""
        task = _task(query)
        program = last_program(completion)
        if program is None:
            return Judgement(False, 0.0, "gives no program")
        trial = Trial(self._sandbox, self._config, program, task.function)
        try:
            outcomes = self._wanted(trial, task)
            if any(outcome.doubtful for outcome in outcomes):
                check_the_machine(self._sandbox, self._config)
        except NotStarted as error:
            raise Unscorable(str(error)) from error
        return self._judged(outcomes, len(task.tests))

    def _wanted(self, trial: Trial, task: Task) -> list[Outcome]:
        """Outcomes up to the first failure, or all of them, where the share counts."""
        found: list[Outcome] = []
        for outcome in islice(trial.outcomes(task.tests), len(task.tests)):
            found.append(outcome)
            if not outcome.passed and self._config.reward == "all":
                break
        return found

    def _judged(self, outcomes: list[Outcome], total: int) -> Judgement:
        passed = sum(outcome.passed for outcome in outcomes)
        if passed == total:
            return Judgement(True, 1.0, f"passes {total} tests")
        first = next(n for n, outcome in enumerate(outcomes) if not outcome.passed)
        remark = f"test {first + 1} of {total}: {outcomes[first].remark}"
        if self._config.reward == "all":
            return Judgement(False, 0.0, remark)
        return Judgement(False, passed / total, f"passes {passed} of {total} tests; {remark}")


def _task(query: schemas.Query) -> Task:
    """The tests of a query, each seen to be readable. Raises Unscorable."""
    task = read_task(query.reference)
    if task is None:
        raise Unscorable("the reference holds no tests, or none that can be read")
    function = task.function or function_name(query.extra)
    for number, test in enumerate(task.tests, 1):
        if test.kind == "stdin":
            continue
        if function is None:
            raise Unscorable(
                f"test {number} calls a function, and nothing says which: no fn_name, no starter_code"
            )
        try:
            arguments(test)
            json.loads(test.output)
        except (ValueError, RecursionError) as error:
            raise Unscorable(f"test {number} is not in JSON: {error}") from error
    return Task(task.tests, function)

"""A scripted mentor for the chain task behind the interface that LLM agents have.

It reads the failed attempts as text, finds the steps at which they went wrong, and gives away one running
value: as late as needed for the rest to be within the policy's reach, and no later, so that the policy still
has something to learn. `kind = "examples.chain.mentor_agents"`.
"""

import re
from collections.abc import Sequence
from itertools import accumulate

from pydantic import Field

from consumers.guides.base import Case
from consumers.guides.fdcg.agents.base import AgentError, Attribution, Draft, Flaw, Judgment
from examples.chain import task
from mentor_stream.config import Section

LAST_HINT = task.STEPS - 1
"""The last step that may be given away: the one after it is the answer."""


class Config(Section):
    """Options of the scripted mentor."""

    min_success: float = Field(0.2, gt=0, lt=1)
    """Reveal the earliest step after which the remaining ones together succeed at least this often."""


class ChainAgents:
    """Attribution counts, Generation picks a step, Judgment checks it, Repair takes the next."""

    def __init__(self, min_success: float) -> None:
        self._min_success = min_success

    async def attribute(self, case: Case) -> Attribution:
        """How many attempts made an error of their own at which step, steps without one left out."""
        question, attempts = _question(case), len(case.group.trajectories)
        counts = error_counts(case)
        worst = max(range(task.STEPS), key=lambda step: counts[step])
        told = [step for step, count in enumerate(counts) if count or step == worst]
        before = [question.start, *question.values()][worst]
        habit = "a forgotten carry or borrow" if question.operands[worst].is_hard(before) else "a wrong sum"
        return Attribution(
            root_cause=f"{habit}, most often at step {worst + 1}",
            errors=tuple(f"step {step + 1}: {counts[step]} of {attempts}" for step in told),
            keywords=(habit, f"step {worst + 1}"),
        )

    async def generate(self, case: Case, attribution: Attribution | None, rejected: Sequence[str]) -> Draft:
        """The value after the earliest step that leaves enough success; after the middle one unattributed."""
        tried = {hint.step for hint in map(task.parse_hint, [*rejected, *case.earlier]) if hint}
        wanted = task.STEPS // 2
        if attribution is not None:
            wanted = step_to_reveal(*_read_errors(attribution), min_success=self._min_success)
        free = [step for step in range(1, LAST_HINT + 1) if step not in tried]
        if not free:
            raise AgentError("every step has been given away already")
        return self._reveal(case, next((step for step in free if step >= wanted), free[-1]))

    async def judge(self, case: Case, draft: str) -> Judgment:
        """Passes a hint that names a step, is right and does not state the answer."""
        values, hint = _question(case).values(), task.parse_hint(draft)
        if hint is None:
            return Judgment(Flaw.VAGUE, "it gives no value after a step")
        if not 1 <= hint.step <= task.STEPS:
            return Judgment(Flaw.IRRELEVANT, f"there is no step {hint.step}")
        if hint.step > LAST_HINT or hint.value == values[-1]:
            return Judgment(Flaw.LEAK, "it states the final value")
        if hint.value != values[hint.step - 1]:
            return Judgment(Flaw.WRONG, f"the value after step {hint.step} is another")
        return Judgment(None)

    async def repair(self, case: Case, draft: str, critique: str) -> Draft:
        """The value after the next step; after the middle one when the draft names none."""
        hint = task.parse_hint(draft)
        return self._reveal(case, hint.step % LAST_HINT + 1 if hint else task.STEPS // 2)

    def _reveal(self, case: Case, step: int) -> Draft:
        return Draft(str(task.Hint(step, _question(case).values()[step - 1])))


def error_counts(case: Case) -> list[int]:
    """Per step, how many of the attempts made their own error there [STEPS]."""
    question = _question(case)
    given = task.parse_hint(case.query.hint.text) if case.query.hint else None
    attempts = [task.parse_completion(t.text) for t in case.group.trajectories]
    wrong = [task.own_errors(question, values, given.step if given else 0) for values in attempts]
    return [sum(step in errors for errors in wrong) for step in range(1, task.STEPS + 1)]


def step_to_reveal(errors: Sequence[int], attempts: int, *, min_success: float) -> int:
    """The earliest step, never the last, whose remaining steps are estimated to succeed `min_success` often.

    The estimate is the product of the steps' success rates, each smoothed by a quarter of a failure and of
    a success, so that a step nobody got right is not taken for impossible.
    """
    rates = [1 - (count + 0.25) / (attempts + 0.5) for count in errors]
    remaining = list(accumulate(reversed(rates[1:]), lambda product, rate: product * rate))[::-1]
    enough = (step for step, success in enumerate(remaining, start=1) if success >= min_success)
    return next(enough, LAST_HINT)


def _question(case: Case) -> task.Question:
    try:
        return task.parse_question(case.query.question)
    except ValueError as error:
        raise AgentError(str(error)) from error


def _read_errors(attribution: Attribution) -> tuple[list[int], int]:
    """Per step the count [STEPS], and the number of attempts, back from lines such as `step 3: 5 of 8`."""
    counts, attempts = [0] * task.STEPS, 0
    for error in attribution.errors:
        step, count, attempts = map(int, re.findall(r"\d+", error))
        counts[step - 1] = count
    return counts, attempts


def build(config: Config) -> ChainAgents:
    """The plugin's entry."""
    return ChainAgents(config.min_success)

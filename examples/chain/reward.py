"""The reward of the chain task, as a reader's own reward plugs in: `kind = "examples.chain.reward"`."""

from examples.chain import task
from mentor_stream.config import Section
from producers.rewards.base import Judgement, Unscorable
from schemas import Query


class Config(Section):
    """The reward has no options."""


class ChainReward:
    """1 for a chain whose answer is right and whose every step follows from the one before, else 0.

    Steps up to a hint's are given, so they are not held against a hinted attempt. The steps count because
    a reward on the answer alone is hacked: only its tens digit is ever wrong, so a guess pays in ten tries.
    """

    def score(self, query: Query, completion: str) -> Judgement:
        """Raises Unscorable when the question or its reference is not of this task."""
        question = self._question(query)
        hint = task.parse_hint(query.hint.text) if query.hint else None
        values = task.parse_completion(completion)
        if len(values) != task.STEPS:
            return Judgement(False, 0.0, f"{len(values)} values where {task.STEPS} are asked for")
        if errors := task.own_errors(question, values, given=hint.step if hint else 0):
            return Judgement(False, 0.0, self._remark(question, values, errors[0]))
        if values[-1] != question.values()[-1]:
            return Judgement(False, 0.0, "every step follows, but from a value other than the given one")
        return Judgement(True, 1.0)

    def _question(self, query: Query) -> task.Question:
        try:
            question = task.parse_question(query.question)
            agrees = int(query.reference) == question.values()[-1]
        except ValueError as error:
            raise Unscorable(str(error)) from error
        if not agrees:
            raise Unscorable(f"the reference {query.reference} is not the answer of {query.question!r}")
        return question

    def _remark(self, question: task.Question, values: list[int | None], step: int) -> str:
        before = question.start if step == 1 else values[step - 2]
        written, operand = values[step - 1], question.operands[step - 1]
        if before is None or written is None:
            return f"first own error at step {step}: no value"
        right = operand.apply(before)
        return f"first own error at step {step}: {before:02d} {operand} is {right:02d}, not {written:02d}"


def build(config: Config) -> ChainReward:
    """The plugin's entry."""
    return ChainReward()

"""Right when the completion's final answer is the reference's value, in whatever spelling (math-verify)."""

import schemas
from mentor_stream.answers import Form
from mentor_stream.config import Section
from producers.rewards.base import Judgement, Reward, Unscorable


class Config(Section):
    """Where an answer may stand."""

    form: Form = "free"
    """`free`: the last box, else what is stated as the answer, else the last formula or number. `boxed`: the
    last box or nothing, for a policy that is asked to use one. `number`: the last number of the text."""


def build(config: Config) -> Reward:
    """The verifier. Compares once, so that no completion pays for what sympy loads at its first use."""
    from mentor_stream import answers

    answers.equivalent("1/2", "0.5")
    return MathReward(config)


class MathReward:
    """Reward 1 for an equivalent answer, else 0."""

    def __init__(self, config: Config) -> None:
        self._form: Form = config.form

    def score(self, query: schemas.Query, completion: str) -> Judgement:
        """See Reward.score."""
        from mentor_stream import answers

        if not answers.readable(query.reference):
            raise Unscorable(f"the reference {query.reference[:80]!r} is not readable as an answer")
        answer = answers.final_answer(completion, self._form)
        if answer is None:
            return Judgement(False, 0.0, "gives no answer")
        right = answers.equivalent(query.reference, answer)
        return Judgement(right, float(right), f"answers {answer[:80]}")

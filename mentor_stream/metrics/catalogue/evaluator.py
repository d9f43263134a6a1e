"""What the evaluator measures."""

from functools import partial

from mentor_stream.metrics.measure import Measure as _Measure

Measure = partial(_Measure, component="evaluator")

MEASURES = (
    Measure(
        name="mentor_stream_evaluator_heldout_accuracy_ratio",
        unit="ratio",
        keys={"heldout_accuracy": ()},
        means="share of right completions of held-out questions, without hints, of the last version tried",
        normal="rises",
        act="Falls while the reward rises: the verifier is being gamed, or the data are overfitted. Falls "
        "with it: lower trainer.lr, or go back to an earlier snapshot.",
    ),
    Measure(
        name="mentor_stream_evaluator_heldout_questions",
        unit="questions",
        keys={"heldout_questions": ()},
        means="held-out questions with a completion that could be judged",
        normal="constant",
        act="Falls: see unscorable.",
    ),
    Measure(
        name="mentor_stream_evaluator_heldout_unscorable",
        unit="completions",
        keys={"heldout_unscorable": ()},
        means="completions of that evaluation that the verifier could not judge",
        normal="0",
        act="The verifier is in trouble, not the policy: its reason is in the evaluator's log.",
    ),
    Measure(
        name="mentor_stream_evaluator_generated_tokens",
        unit="tokens",
        keys={"generated_tokens": ()},
        means="tokens generated for the run when the version was released: where the point lies on a curve",
        normal="rises",
        act="Far behind the trainer's: evaluation is slower than training; raise evaluate.every.",
    ),
    Measure(
        name="mentor_stream_evaluator_evaluation_seconds",
        unit="seconds",
        keys={"evaluation_seconds": ()},
        means="what the last evaluation took",
        normal="less than evaluate.every training steps",
        act="Longer: ask fewer questions (evaluate.questions), or evaluate more rarely (evaluate.every).",
    ),
)

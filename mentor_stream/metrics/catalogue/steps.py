"""What the trainer measures of its steps: whether the policy learns, and in good health."""

from functools import partial

from mentor_stream.metrics.measure import Kind
from mentor_stream.metrics.measure import Measure as _Measure

Measure = partial(_Measure, component="trainer")
Total = partial(Measure, kind=Kind.COUNTER, increments=True)
_LONG = "Too many: raise trainer.max_tokens_per_microbatch, or set trainer.long_rows."

MEASURES = (
    Measure(
        name="mentor_stream_trainer_steps_total",
        kind=Kind.COUNTER,
        unit="steps",
        keys={"step": ()},
        means="optimizer steps taken over the whole run",
        normal="rises with every batch that teaches something",
        act="Stands still while versions rise: no batch has a signal, or all steps are bad.",
    ),
    Total(
        name="mentor_stream_trainer_steps_taken_total",
        unit="steps",
        keys={"steps_taken": ()},
        means="optimizer steps taken since the process began",
        normal="as steps_total",
        act="As steps_total.",
    ),
    Total(
        name="mentor_stream_trainer_bad_steps_total",
        unit="steps",
        keys={"bad_steps": ()},
        means="steps not taken, since loss or gradients were not finite",
        normal="0",
        act="One now and then does no harm. More: lower trainer.lr, or go back to an earlier checkpoint; "
        "after trainer.max_bad_steps batches in a row the trainer stops.",
    ),
    Measure(
        name="mentor_stream_trainer_loss",
        unit="nats per token",
        keys={"loss": ()},
        means="loss of the last batch, mean over its steps",
        normal="around 0 in GRPO, whatever is learned",
        act="Says little by itself; jumps together with grad_norm: lower trainer.lr.",
    ),
    Measure(
        name="mentor_stream_trainer_grad_norm",
        unit="",
        keys={"grad_norm": ()},
        means="gradient norm before clipping, mean over the last batch's steps",
        normal="level; spikes of a few times its mean",
        act="Rises for good: lower trainer.lr; look at logprob_gap, which shows a sampler that is not the "
        "policy.",
    ),
    Measure(
        name="mentor_stream_trainer_entropy",
        unit="nats",
        keys={"entropy": ()},
        means="mean entropy over the trained tokens, at the temperature of sampling",
        normal="falls slowly",
        act="Falls to 0: all answers of a group become alike, so there is no signal. An entropy term, a "
        "wider upper clip or a higher temperature (docs/trainer.md).",
    ),
    Measure(
        name="mentor_stream_trainer_kl",
        unit="nats",
        keys={"kl": ()},
        means="mean estimated distance to the reference policy; only with one",
        normal="grows slowly and levels out",
        act="Runs away: raise trainer.kl_coef, or lower trainer.lr.",
    ),
    Measure(
        name="mentor_stream_trainer_importance_ratio_mean",
        unit="ratio",
        keys={"ratio_mean": ()},
        means="mean importance ratio over the trained tokens",
        normal="within a few hundredths of 1",
        act="As logprob_gap.",
    ),
    Measure(
        name="mentor_stream_trainer_importance_ratio_max",
        unit="ratio",
        keys={"ratio_max": ()},
        means="largest importance ratio of a trained token",
        normal="below 10",
        act="As logprob_gap.",
    ),
    Measure(
        name="mentor_stream_trainer_clipped_ratio",
        unit="ratio",
        keys={"clip_fraction": ()},
        means="share of trained tokens on which the clip or the importance cap was in force",
        normal="below 0.1",
        act="Higher: the policy moves too fast for the age of its samples: lower trainer.lr, trainer.epochs "
        "or run.max_staleness.",
    ),
    Measure(
        name="mentor_stream_trainer_logprob_gap_mean",
        unit="nats",
        keys={"logprob_gap_mean": ()},
        means="mean distance between the sampler's and the trainer's log-probabilities (the sampler gap)",
        normal="below 0.01 for fresh samples, a few hundredths for old ones",
        act="High from the first batch: the sampler computes something else (another snapshot, precision, "
        "top-p). Rises later: as clipped_ratio. docs/trainer.md says more.",
    ),
    Measure(
        name="mentor_stream_trainer_logprob_gap_max",
        unit="nats",
        keys={"logprob_gap_max": ()},
        means="largest such distance of the last batch",
        normal="below 1",
        act="As the mean.",
    ),
    Measure(
        name="mentor_stream_trainer_logprob_gap_alarm",
        unit="",
        keys={"logprob_gap_alarm": ()},
        means="1 where the mean is above trainer.max_logprob_gap",
        normal="0",
        act="As the mean.",
    ),
    Total(
        name="mentor_stream_trainer_trained_tokens_total",
        unit="tokens",
        keys={"trained_tokens": ()},
        means="completion tokens learned from, as often as they were, since the process began",
        normal="its rate over step seconds is the trainer's speed",
        act="Falls at the same step seconds: see padding.",
    ),
    Measure(
        name="mentor_stream_trainer_padding_ratio",
        unit="ratio",
        keys={"padding_fraction": ()},
        means="share of positions that went through the model for nothing",
        normal="below 0.1",
        act="Higher: raise trainer.max_tokens_per_microbatch, so that rows pack better.",
    ),
    Total(
        name="mentor_stream_trainer_dropped_rows_total",
        unit="trajectories",
        keys={"dropped_rows": ()},
        means="trajectories left out because they are too long",
        normal="0",
        act=_LONG,
    ),
    Total(
        name="mentor_stream_trainer_truncated_rows_total",
        unit="trajectories",
        keys={"truncated_rows": ()},
        means="trajectories learned from without their end",
        normal="0",
        act=_LONG,
    ),
    Measure(
        name="mentor_stream_trainer_staleness_versions_mean",
        unit="versions",
        keys={"staleness_mean": ()},
        means="mean age of the oldest tokens of the groups in the last batch",
        normal="0 to 2",
        act="Nears run.max_staleness: groups will be thrown away as stale; fewer rollout workers, or a "
        "larger bound.",
    ),
    Measure(
        name="mentor_stream_trainer_staleness_versions_max",
        unit="versions",
        keys={"staleness_max": ()},
        means="age of the oldest token in the last batch",
        normal="at most run.max_staleness: a hard bound",
        act="As the mean.",
    ),
)

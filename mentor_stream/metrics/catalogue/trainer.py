"""What the trainer measures of what arrives, and of its time. What a batch did is steps.py's."""

from functools import partial

from mentor_stream.metrics.catalogue.shared import SLOW
from mentor_stream.metrics.measure import Kind
from mentor_stream.metrics.measure import Measure as _Measure

Measure = partial(_Measure, component="trainer")

ARRIVED = Measure(
    name="mentor_stream_trainer_groups_total",
    kind=Kind.COUNTER,
    unit="groups",
    labels=("origin", "collapsed"),
    begins=(("plain", "no"), ("plain", "yes"), ("guided", "no"), ("guided", "yes")),
    means="groups that arrived for the first time, by origin and whether they had collapsed",
    normal="plain ones collapse more and more rarely; of guided ones more than half do not (rescue rate)",
    act="No growth: nothing arrives, and the trainer's log says why. Plain ones all collapse: see rollout. "
    "Guided ones all collapse: hints do not help; read some (`mentor-stream tail hints CONFIG`).",
)
WAITING_SECONDS = Measure(
    name="mentor_stream_trainer_waiting_seconds_total",
    kind=Kind.COUNTER,
    unit="seconds",
    means="time without a batch to train on: its rate is the idle share",
    normal="a rate below 0.2 where GPUs are dear; near 1 in a run that rollout bounds",
    act="Rate too high: rollout is the slower: more workers, or a larger run.max_staleness so that they need "
    "not wait. At 1 for minutes: see groups_total.",
)
CHECKPOINT_SECONDS = Measure(
    name="mentor_stream_trainer_checkpoint_seconds",
    kind=Kind.HISTOGRAM,
    unit="seconds",
    keys={"checkpoint_seconds": ()},
    buckets=SLOW,
    means="writing one checkpoint; no step is taken meanwhile",
    normal="a small part of trainer.checkpoint_every steps",
    act="Grows: the disk of run.directory is slow or full. Raise trainer.checkpoint_every.",
)
RELEASE_SECONDS = Measure(
    name="mentor_stream_trainer_release_seconds",
    kind=Kind.HISTOGRAM,
    unit="seconds",
    keys={"release_seconds": ()},
    buckets=SLOW,
    means="writing one snapshot and announcing it; no step is taken meanwhile",
    normal="a small part of trainer.publish_every steps",
    act="As for checkpoints; trainer.publish_every may be up to run.max_staleness + 1.",
)
UPLOAD_SECONDS = Measure(
    name="mentor_stream_trainer_upload_seconds",
    kind=Kind.HISTOGRAM,
    unit="seconds",
    buckets=SLOW,
    means="bringing one snapshot into the store of run.snapshots, with all tries, beside training",
    normal="below trainer.publish_every steps: what takes longer leaves releases out",
    act="Grows: see upload_retries_total; then the way to the store, or its bucket's limits. Raise "
    "trainer.publish_every.",
)
UPLOAD_RETRIES = Measure(
    name="mentor_stream_trainer_upload_retries_total",
    kind=Kind.COUNTER,
    unit="tries",
    means="requests to the store of run.snapshots that failed and were made again, to bring a policy there",
    normal="0, or a few a day",
    act="Grows: the trainer's log names the request and the store's answer. After trainer.upload_seconds "
    "without success training ends, behind a checkpoint, with 75.",
)
RELEASED_AT = Measure(
    name="mentor_stream_trainer_released_timestamp_seconds",
    unit="seconds",
    means="when the newest policy was released, since the epoch: `time()` less this is the snapshot's age",
    normal="an age of trainer.publish_every steps at most",
    act="The age grows: no step is taken. See groups_total, bad_steps_total and `/healthz`.",
)
CHECKPOINTED_AT = Measure(
    name="mentor_stream_trainer_checkpointed_timestamp_seconds",
    unit="seconds",
    means="when the last checkpoint was complete, since the epoch: what a crash would cost",
    normal="an age of trainer.checkpoint_every steps at most",
    act="The age grows while steps are taken: lower trainer.checkpoint_every, or look for a full disk.",
)
MEASURES = (
    Measure(
        name="mentor_stream_trainer_generated_tokens_total",
        kind=Kind.COUNTER,
        unit="tokens",
        keys={"generated_tokens": ()},
        means="completion tokens of all groups that arrived, over the whole run",
        normal="rises up to run.max_tokens",
        act="Its rate is what rollout delivers.",
    ),
    Measure(
        name="mentor_stream_trainer_pending_groups",
        unit="groups",
        keys={"pending_groups": ()},
        means="groups that wait for a batch",
        normal="below run.batch_groups",
        act="Far above: guided ones beyond trainer.max_guided_fraction; see surplus.",
    ),
    Measure(
        name="mentor_stream_trainer_placed_groups",
        unit="groups",
        keys={"placed_groups": ()},
        means="groups that have a place in the next batch",
        normal="rises to run.batch_groups, again and again",
        act="Stays while groups_total grows: what comes teaches nothing (all answers of a group are wrong, "
        "or all are right).",
    ),
    Measure(
        name="mentor_stream_trainer_waited_seconds",
        unit="seconds",
        keys={"waiting_seconds": ()},
        means="for how long the batch that is next has been waited for; 0 while one is learned",
        normal="as wait_seconds",
        act="A minute and more: the trainer's log says for what, every half minute.",
    ),
    Measure(
        name="mentor_stream_trainer_run_groups_total",
        kind=Kind.COUNTER,
        unit="groups",
        labels=("kind",),
        keys={
            "plain_groups": ("plain",),
            "collapsed_groups": ("collapsed",),
            "guided_groups": ("guided",),
            "rescued_groups": ("rescued",),
        },
        means="groups that arrived over the whole run: plain ones, those of them without a right answer, "
        "guided ones, those of them with one",
        normal="as groups_total, which counts from the start of the process",
        act="As groups_total.",
    ),
    Measure(
        name="mentor_stream_trainer_stale_groups_total",
        kind=Kind.COUNTER,
        unit="groups",
        keys={"stale_groups": ()},
        means="groups that became older than run.max_staleness while they waited, over the whole run",
        normal="below a few in a hundred",
        act="Grows: work is thrown away. Raise run.max_staleness, or have fewer rollout workers.",
    ),
    Measure(
        name="mentor_stream_trainer_surplus_groups_total",
        kind=Kind.COUNTER,
        unit="groups",
        keys={"surplus_groups": ()},
        means="guided groups let go because batches had no place for them, over the whole run",
        normal="0 once fewer groups collapse",
        act="Grows: raise trainer.max_guided_fraction, or have fewer mentors.",
    ),
    Measure(
        name="mentor_stream_trainer_reward",
        unit="reward",
        keys={"reward": ()},
        means="mean reward of plain groups that arrived for the last batch",
        normal="rises, with noise",
        act="Falls for many batches: the policy breaks. Look at kl, entropy, grad_norm and logprob_gap; "
        "lower trainer.lr.",
    ),
    Measure(
        name="mentor_stream_trainer_guided_reward",
        unit="reward",
        keys={"guided_reward": ()},
        means="mean reward of guided groups that arrived for the last batch",
        normal="above 0: these questions had no reward at all",
        act="Near 0: hints do not help. Read them (`mentor-stream tail hints CONFIG`); a better model for "
        "the guide, or max_rounds.",
    ),
    Measure(
        name="mentor_stream_trainer_zero_reward_ratio",
        unit="ratio",
        keys={"zero_reward_fraction": ()},
        means="share of plain groups that had collapsed, of those that arrived for the last batch",
        normal="falls",
        act="See collapsed_groups_total of rollout.",
    ),
    Measure(
        name="mentor_stream_trainer_rescue_ratio",
        unit="ratio",
        keys={"rescue_rate": ()},
        means="share of guided groups with a right answer at last, of those that arrived for the last batch",
        normal="above .5 with a model for the guide that can solve the questions",
        act="As guided_reward.",
    ),
    Measure(
        name="mentor_stream_trainer_step_seconds",
        kind=Kind.HISTOGRAM,
        unit="seconds",
        keys={"step_seconds": ()},
        buckets=SLOW,
        means="learning from one batch",
        normal="follows the tokens of a batch, and nothing else: no mentor can slow it down",
        act="Grows at the same tokens: the device is shared or throttled, or completions no longer pack well "
        "(padding).",
    ),
    Measure(
        name="mentor_stream_trainer_wait_seconds",
        unit="seconds",
        keys={"wait_seconds": ()},
        means="time without groups before the last batch",
        normal="as waiting_seconds_total, which also grows while nothing comes at all",
        act="As waiting_seconds_total.",
    ),
    ARRIVED,
    WAITING_SECONDS,
    CHECKPOINT_SECONDS,
    RELEASE_SECONDS,
    UPLOAD_SECONDS,
    UPLOAD_RETRIES,
    RELEASED_AT,
    CHECKPOINTED_AT,
)

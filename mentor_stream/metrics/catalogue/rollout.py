"""What a rollout worker measures."""

from functools import partial

from mentor_stream.metrics.catalogue.shared import SLOW
from mentor_stream.metrics.measure import Kind
from mentor_stream.metrics.measure import Measure as _Measure

Measure = partial(_Measure, component="rollout")

SAMPLING_SECONDS = Measure(
    name="mentor_stream_rollout_sampling_seconds",
    kind=Kind.HISTOGRAM,
    unit="seconds",
    buckets=SLOW,
    means="one call of the engine: all completions of its prompts",
    normal="stays level for completions of the same length",
    act="Grows with the completions' length: expected while the policy learns to think longer. Without that: "
    "the engine shares its device, or its cache is too small.",
)
JUDGING_SECONDS = Measure(
    name="mentor_stream_rollout_judging_seconds",
    kind=Kind.HISTOGRAM,
    unit="seconds",
    buckets=SLOW,
    means="judging all completions of one group, waiting for a judge with it",
    normal="below sampling",
    act="Above sampling: more reward.workers, or a lower time limit for the verifier.",
)
TRAJECTORIES = Measure(
    name="mentor_stream_rollout_trajectories_total",
    kind=Kind.COUNTER,
    unit="trajectories",
    labels=("verdict",),
    keys={
        "right": ("right",),
        "wrong": ("wrong",),
        "unscorable": ("unscorable",),
        "aborted": ("aborted",),
    },
    means="completions by verdict: right, wrong, unscorable (the judge was in trouble), aborted",
    normal="right rises in share; unscorable and aborted near 0",
    act="Unscorable: the verifier's trouble is in the trajectory's remark (`mentor-stream tail groups CONFIG "
    "--verdict unscorable`). Aborted: prompts too long, or an engine that gave up.",
)
MEASURES = (
    Measure(
        name="mentor_stream_rollout_tokens_per_second",
        unit="tokens per second",
        keys={"tokens_per_second": ()},
        means="completion tokens a second that were published within the last minute",
        normal="level, with pauses while nothing is asked",
        act="Look at the rate of tokens_total over minutes instead: this one is for the live view.",
    ),
    Measure(
        name="mentor_stream_rollout_tokens_total",
        kind=Kind.COUNTER,
        unit="tokens",
        keys={"tokens": ()},
        means="completion tokens published",
        normal="a level rate",
        act="The rate falls: no questions (lag of queries at 0: the trainer or feeder is the slower), or a "
        "slow engine (sampling seconds).",
    ),
    Measure(
        name="mentor_stream_rollout_groups_total",
        kind=Kind.COUNTER,
        unit="groups",
        keys={"groups": ()},
        means="groups published, collapsed ones with them",
        normal="a level rate",
        act="No growth while queries wait: the worker or its engine hangs. Its log, then a restart.",
    ),
    Measure(
        name="mentor_stream_rollout_collapsed_groups_total",
        kind=Kind.COUNTER,
        unit="groups",
        keys={"collapsed": ()},
        means="groups in which every completion was judged wrong",
        normal="its share of groups falls while the policy learns",
        act="Near 1 from the start: questions far too hard, or a verifier that reads no answer at all: look "
        "at a few (`mentor-stream tail collapsed CONFIG`). Jumps up later: the policy broke; see the "
        "trainer.",
    ),
    Measure(
        name="mentor_stream_rollout_refused_groups_total",
        kind=Kind.COUNTER,
        unit="groups",
        keys={"refused": ()},
        means="queries that were not sampled: the prompt is too long",
        normal="0",
        act="prompt.max_prompt_tokens, or rollout.max_new_tokens against the model's context.",
    ),
    Measure(
        name="mentor_stream_rollout_in_flight_queries",
        unit="queries",
        keys={"in_flight": ()},
        means="queries taken and not yet published: sampled or judged at the moment",
        normal="up to three batches a lane of the engine",
        act="At its most while no group comes out: the engine or the judges hang.",
    ),
    TRAJECTORIES,
    SAMPLING_SECONDS,
    JUDGING_SECONDS,
)

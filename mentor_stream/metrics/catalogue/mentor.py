"""What a mentor measures."""

from functools import partial

from mentor_stream.metrics.catalogue.shared import SLOW
from mentor_stream.metrics.measure import Kind
from mentor_stream.metrics.measure import Measure as _Measure

Measure = partial(_Measure, component="mentor")

CASE_SECONDS = Measure(
    name="mentor_stream_mentor_case_seconds",
    kind=Kind.HISTOGRAM,
    unit="seconds",
    buckets=SLOW,
    means="from taking a case to its diagnosis, of cases that the guide worked on",
    normal="a few calls of the endpoint, well below the time of mentor.max_case_age training steps",
    act="Longer: lessons come too late (stale cases). A faster model, lower max_refine and max_retry, or "
    "more concurrency if the endpoint has room. Training is not held up by it.",
)
CASE_TOKENS = Measure(
    name="mentor_stream_mentor_case_tokens",
    kind=Kind.HISTOGRAM,
    unit="tokens",
    buckets=(250, 500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000),
    means="prompt and completion tokens spent on one case, of cases that the guide worked on",
    normal="stays level for questions of the same kind",
    act="Grows: longer attempts to read, or more rounds of repair (refinements, redrafts).",
)
REQUEST_SECONDS = Measure(
    name="mentor_stream_mentor_request_seconds",
    kind=Kind.HISTOGRAM,
    unit="seconds",
    buckets=SLOW,
    means="one request to a model's endpoint that was answered",
    normal="level for the same model and prompts",
    act="Grows with the requests: the endpoint is at its limit, and more concurrency makes it slower. "
    "Without them: it is shared with others; add a standby endpoint.",
)
REQUESTS = Measure(
    name="mentor_stream_mentor_requests_total",
    kind=Kind.COUNTER,
    unit="requests",
    labels=("result",),
    keys={
        "answered": ("answered",),
        "down": ("down",),
        "closed": ("closed",),
        "request": ("request",),
    },
    means="requests to endpoints: answered, down (no answer, no room: asked again elsewhere or after a "
    "pause), closed (the endpoint will not answer us: key, quota, model), request (cannot be answered by "
    "anyone: too long)",
    normal="answered but for a few",
    act="Down: the endpoint is overloaded or away; standby endpoints take over. Closed: mend key or quota; "
    "the mentor's log quotes the answer. Request: lower max_tokens, or a model with a longer context.",
)
MEASURES = (
    Measure(
        name="mentor_stream_mentor_cases_total",
        kind=Kind.COUNTER,
        unit="cases",
        labels=("outcome",),
        keys={
            "hints": ("hint",),
            "fallbacks": ("fallback",),
            "silent": ("silent",),
            "stale": ("stale",),
            "exhausted": ("exhausted",),
            "superseded": ("superseded",),
            "shed": ("shed",),
        },
        means="cases by how they ended (`mentor-stream tail diagnoses CONFIG`): hint, fallback (validation "
        "kept failing), silent (no hint, on purpose or after trouble), stale, exhausted (no rounds left), "
        "superseded (a newer case of the question), shed (backlog full)",
        normal="mostly hint",
        act="Fallback or silent: read the reasons in `tail diagnoses --outcome silent`. Stale or shed: "
        "mentors are slower than questions fail; start more.",
    ),
    Measure(
        name="mentor_stream_mentor_cases_seen_total",
        kind=Kind.COUNTER,
        unit="cases",
        keys={"cases": ()},
        means="cases that are over, however they ended",
        normal="follows the trainer's collapsed groups",
        act="Stands still while `collapsed` has a lag: the mentor hangs, or its endpoint does.",
    ),
    Measure(
        name="mentor_stream_mentor_in_flight_cases",
        unit="cases",
        keys={"in_flight": ()},
        means="cases that the guide works on",
        normal="up to mentor.concurrency",
        act="At its most for long: raise mentor.concurrency, or start another mentor.",
    ),
    Measure(
        name="mentor_stream_mentor_waiting_cases",
        unit="cases",
        keys={"waiting": ()},
        means="cases read that wait for their turn",
        normal="near 0",
        act="Grows: as in_flight. At mentor.max_backlog the oldest are shed.",
    ),
    Measure(
        name="mentor_stream_mentor_tokens_total",
        kind=Kind.COUNTER,
        unit="tokens",
        labels=("kind",),
        keys={"prompt_tokens": ("prompt",), "completion_tokens": ("completion",)},
        means="tokens that the guide's calls took",
        normal="follows the cases",
        act="Bound it: tokens_per_hour, tokens_per_run of the endpoint (docs/mentor.md).",
    ),
    Measure(
        name="mentor_stream_mentor_cost_total",
        kind=Kind.COUNTER,
        unit="currency of the prices",
        keys={"cost": ()},
        means="what the calls cost at the endpoint's input_price and output_price; 0 without them",
        normal="follows the tokens",
        act="As tokens.",
    ),
    Measure(
        name="mentor_stream_mentor_case_seconds_mean",
        unit="seconds",
        keys={"seconds_mean": ()},
        means="mean time of all cases worked on since the process began",
        normal="as case_seconds",
        act="case_seconds tells more: this one is for the live view.",
    ),
    Measure(
        name="mentor_stream_mentor_leaks_refused_total",
        kind=Kind.COUNTER,
        unit="drafts",
        keys={"leaks": ()},
        means="drafts that the leak guard refused since they hold the answer",
        normal="below a tenth of the cases; it depends on the model",
        act="Grows: the guide's model gives answers away. None of them was published. A better model, or a "
        "prompt of your own for Generation (docs/guides.md).",
    ),
    Measure(
        name="mentor_stream_mentor_refused_drafts_total",
        kind=Kind.COUNTER,
        unit="drafts",
        labels=("verdict",),
        keys={
            "refused_leak": ("leak",),
            "refused_wrong": ("wrong",),
            "refused_irrelevant": ("irrelevant",),
            "refused_vague": ("vague",),
            "refused_other": ("other",),
        },
        means="drafts that Judgment, the leak guard or the prompt budget refused, by the verdict",
        normal="less than one a case",
        act="More, and few cases end with a hint: Judgment is too strict or Generation too weak. Read both "
        "(`mentor-stream tail diagnoses CONFIG`).",
    ),
    Measure(
        name="mentor_stream_mentor_rounds_total",
        kind=Kind.COUNTER,
        unit="rounds",
        labels=("kind",),
        keys={"refined": ("repair",), "redrafted": ("redraft",)},
        means="Judgment-Repair rounds, and fresh drafts after the first",
        normal="less than one a case",
        act="Grows: Judgment is stricter than Generation is able. Read the critiques (`mentor-stream tail "
        "diagnoses CONFIG`).",
    ),
    Measure(
        name="mentor_stream_mentor_failed_calls_total",
        kind=Kind.COUNTER,
        unit="calls",
        keys={"failed_calls": ()},
        means="calls of an agent that failed after all their retries",
        normal="0",
        act="The endpoint is away, refuses (key, quota) or answers what cannot be read: the mentor's log "
        "says which. Costs lessons, never training time.",
    ),
    CASE_SECONDS,
    CASE_TOKENS,
    REQUESTS,
    REQUEST_SECONDS,
)

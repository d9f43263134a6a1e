"""What every component measures."""

from mentor_stream.metrics.measure import Kind, Measure

TOPICS = ("queries", "guided", "groups", "collapsed", "diagnoses", "policies", "metrics", "dead-letters")
QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SLOW = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0, 1280.0)
"""Buckets of what the broker does, and of what models do [s]."""

PROCESS = Measure(
    name="mentor_stream_process_info",
    unit="",
    labels=("process",),
    means="1; the label is host and process id, as the records of this process have them",
    normal="1",
    act="Joins what Prometheus calls `instance` to `worker` of groups and `instance` of metric records.",
)
ALIVE = Measure(
    name="mentor_stream_alive",
    unit="",
    means="whether `/healthz` says so: its loops turn",
    normal="1",
    act="`/healthz` names what is stuck and for how long. A stack (`py-spy dump --pid PID`) shows where; "
    "then restart it: nothing is lost. Comes back? telemetry.stuck_after_seconds may be too short for it.",
)
READY = Measure(
    name="mentor_stream_ready",
    unit="",
    means="whether `/readyz` says so: the broker answers, and the engine has a policy where there is one",
    normal="1 but while it starts",
    act="`/readyz` names what is missing. All components at once: look at the broker. One: at its log.",
)
LOOP_LATE = Measure(
    name="mentor_stream_event_loop_late_seconds",
    unit="seconds",
    means="by how much the event loop missed its last turn, which comes every second",
    normal="below 0.1; seconds while libraries and models are loaded",
    act="The machine has too few cores for what runs on it, or code of yours blocks the loop (a guide, an "
    "agent, an engine): move its work to a thread.",
)
POLICY_VERSION = Measure(
    name="mentor_stream_policy_version",
    unit="versions",
    means="policy version in use; the trainer's is the newest",
    normal="rises; rollout workers are no more than trainer.publish_every behind the trainer",
    act="A worker that stays behind cannot load releases: its log says why. All stand still: see the steps "
    "of the trainer.",
)
LAG = Measure(
    name="mentor_stream_lag_records",
    unit="records",
    labels=("topic", "reader"),
    means="records of a topic that its readers (rollout, mentor or trainer, all processes together) have yet "
    "to deal with. Each of them tells the same number, and the trainer tells that of all: use `max`",
    normal="`queries` as much as the feeder admits, `guided` and `collapsed` near 0, `groups` near 0",
    act="`queries` or `guided` grow: more rollout workers. `collapsed` grows: more mentors, or more "
    "concurrency in them; training does not wait. `groups` grow: the trainer is the slowest, which is fine "
    "until groups become stale. Scale on it.",
)
PUBLISH_SECONDS = Measure(
    name="mentor_stream_publish_seconds",
    kind=Kind.HISTOGRAM,
    unit="seconds",
    labels=("topic",),
    buckets=QUICK,
    means="from handing a record, or a batch of them, over until the broker has it durably",
    normal="milliseconds; below 0.1 s at the 99th percentile",
    act="The broker's disk or network is slow, or a copy is missing (`mentor-stream topics describe`).",
)
PUBLISH_FAILURES = Measure(
    name="mentor_stream_publish_failures_total",
    kind=Kind.COUNTER,
    unit="records",
    labels=("topic",),
    begins=tuple((topic,) for topic in TOPICS),
    means="records that could not be published: refused, or the broker was away for too long",
    normal="0",
    act="The component's log says why. A record that is too large: topics.max_record_bytes.",
)
DEAD_LETTERS = Measure(
    name="mentor_stream_dead_letters_total",
    kind=Kind.COUNTER,
    unit="records",
    labels=("topic",),
    begins=tuple((topic,) for topic in TOPICS),
    means="records of this topic that nobody could read or train on, kept as dead letters",
    normal="0",
    act="`mentor-stream dead-letters list CONFIG` says what, where and why. Often two versions of the "
    "software on one stream: upgrade the readers, then requeue.",
)
RECORDS_SKIPPED = Measure(
    name="mentor_stream_records_skipped_total",
    kind=Kind.COUNTER,
    unit="records",
    keys={"records_skipped": ()},
    means='records that retention took before this component read them (topics.on_gap = "earliest")',
    normal="0",
    act="Work was lost: raise the topic's retention above the longest pause of its readers.",
)


def _library(name: str, unit: str, means: str, normal: str, act: str) -> Measure:
    kind = Kind.COUNTER if name.endswith("_total") else Kind.GAUGE
    return Measure(name=name, kind=kind, unit=unit, means=means, normal=normal, act=act)


OF_THE_LIBRARY = (
    _library(
        "process_cpu_seconds_total",
        "seconds",
        "CPU time of the process",
        "its rate is the number of cores it keeps busy",
        "A feeder or mentor at a whole core is slowed down by it: start another mentor.",
    ),
    _library(
        "process_resident_memory_bytes",
        "bytes",
        "memory of the process",
        "level after the first minutes: all queues are bounded",
        "Grows without end: a leak, in a plugin of yours perhaps. Restart costs nothing; please report it.",
    ),
    _library(
        "process_virtual_memory_bytes",
        "bytes",
        "address space of the process",
        "far above its memory with torch",
        "Of no interest by itself.",
    ),
    _library(
        "process_start_time_seconds",
        "seconds",
        "when the process began, since the epoch",
        "constant",
        "Changes: it was restarted. Its log, or `mentor-stream up`'s notes, say why the one before ended.",
    ),
    _library(
        "process_open_fds",
        "files",
        "open files and connections",
        "tens; hundreds in a mentor with many cases in flight",
        "Nears process_max_fds: raise `ulimit -n`, or lower mentor.concurrency.",
    ),
    _library(
        "process_max_fds",
        "files",
        "how many may be open",
        "the limit of the system",
        "See process_open_fds.",
    ),
)
"""Of prometheus-client's ProcessCollector."""

MEASURES = (
    PROCESS,
    ALIVE,
    READY,
    LOOP_LATE,
    POLICY_VERSION,
    LAG,
    PUBLISH_SECONDS,
    PUBLISH_FAILURES,
    DEAD_LETTERS,
    RECORDS_SKIPPED,
    *OF_THE_LIBRARY,
)

"""The records on the stream, one module each, and the codec that turns them into bytes.

Start with group.py (what is trained and mentored), then query.py, then codec.py. Imports nothing of
ours: a foreign program can use this package alone to read the stream.
"""

from schemas.array import Array, floats, ids
from schemas.codec import (
    RECORDS,
    ForeignRecord,
    InvalidRecord,
    NewerRecord,
    OversizedRecord,
    RecordError,
    TruncatedRecord,
    decode,
    encode,
    json_schemas,
)
from schemas.dead_letter import DeadLetter
from schemas.diagnosis import AgentCall, Diagnosis, Outcome
from schemas.group import FinishReason, Group, Sampling, Trajectory, Verdict, VersionRun
from schemas.identity import group_id, guided_query_id, hint_id, query_id
from schemas.metric import Metric
from schemas.policy_release import Consumed, PolicyRelease
from schemas.query import Hint, Origin, Query
from schemas.record import Record

__all__ = [
    "RECORDS",
    "AgentCall",
    "Array",
    "Consumed",
    "DeadLetter",
    "Diagnosis",
    "FinishReason",
    "ForeignRecord",
    "Group",
    "Hint",
    "InvalidRecord",
    "Metric",
    "NewerRecord",
    "Origin",
    "Outcome",
    "OversizedRecord",
    "PolicyRelease",
    "Query",
    "Record",
    "RecordError",
    "Sampling",
    "Trajectory",
    "TruncatedRecord",
    "Verdict",
    "VersionRun",
    "decode",
    "encode",
    "floats",
    "group_id",
    "guided_query_id",
    "hint_id",
    "ids",
    "json_schemas",
    "query_id",
]

"""The trainer's word that a policy version exists, where it lies, and what it has consumed."""

from schemas.record import Count, Part, Record


class Consumed(Part, frozen=True, kw_only=True):
    """The trainer's counters over the whole run; repeats of a group count once."""

    resolved: Count = 0
    """Plain groups that came back, whatever became of them: what the feeder subtracts from what it fed."""
    accepted: Count = 0
    """Groups, plain and guided, that took or hold a place in a batch."""
    collapsed: Count = 0
    """Plain groups that collapsed."""
    guided: Count = 0
    """Guided groups that came back."""
    rescued: Count = 0
    """Guided groups that did not collapse."""
    stale: Count = 0
    """Groups thrown away because a token was older than max_staleness."""
    tokens: Count = 0
    """Completion tokens generated for all groups seen."""


class PolicyRelease(Record, frozen=True, kw_only=True):
    """Policy `policy_version` (batches trained so far) can be loaded from `uri`.

    Published again for the same version when only the counters moved: readers that look for new
    weights compare versions, the feeder reads the counters.
    """

    policy_version: Count
    step: Count
    """Optimizer steps taken so far."""
    uri: str
    """Where the snapshot is: a path, the same for all readers, with or without `file://`; or the URL of what
    object storage has of it."""
    digest: str
    """Digest of the snapshot's manifest."""
    consumed: Consumed
    final: bool = False
    """The run is over: there will be no newer version."""
    published_at: float

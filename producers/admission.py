"""How much may be on its way: what keeps every group young enough to be trained on. Pure.

Policy version v has consumed v batches. A query sampled now becomes a group that waits behind the groups
accepted before it; if fed + waiting stays within `version + 1 + max_staleness` batches, the group is cut
into a batch at most max_staleness versions after the one that sampled it.
"""

from dataclasses import dataclass

from schemas import Consumed


@dataclass(frozen=True, slots=True)
class Admission:
    """The bound as it stands under one release."""

    version: int
    """Batches trained so far."""
    consumed: Consumed
    batch_groups: int
    max_staleness: int

    @property
    def capacity(self) -> int:
        """Plain queries that may be outstanding at once; negative when more was accepted than fits.

        Each trained batch took `batch_groups` accepted groups, so counters that say less are those of a
        trainer that lost them, and start from there.
        """
        accepted = max(self.consumed.accepted, self.version * self.batch_groups)
        return (self.version + 1 + self.max_staleness) * self.batch_groups - accepted

    def outstanding(self, fed: int) -> int:
        """Plain queries of those `fed` so far that have not come back."""
        return max(0, fed - self.consumed.resolved)

    def room(self, fed: int) -> int:
        """How many more may be fed now."""
        return max(0, self.capacity - self.outstanding(fed))

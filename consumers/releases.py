"""Which policy version is in use, as the trainer's releases say."""

from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskStatus

from mentor_stream import topics
from mentor_stream.stream import Stream


class NewestVersion:
    """The version released last; 0, the policy a run starts from, before any release.

    The last one counts, not the highest: a trainer that fell back to its checkpoint releases lower
    versions again.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.value = 0

    async def follow(self, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED) -> None:
        """Keep up with the releases until cancelled; has started once it knows the last one there is."""
        last = await self._stream.tail(topics.POLICIES)
        bounds = await self._stream.bounds(topics.POLICIES)
        known = any(offset < bounds[place].next for place, offset in last.items())
        if not known:
            task_status.started()
        async with self._stream.reader(topics.POLICIES, start=last) as releases:
            async for release in releases:
                self.value = release.record.policy_version
                if known:
                    task_status.started()
                    known = False

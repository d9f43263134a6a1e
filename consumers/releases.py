"""Which policy version is the newest, as the trainer's releases say."""

from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskStatus

from mentor_stream import topics
from mentor_stream.stream import Stream


class NewestVersion:
    """The newest policy version; 0, the policy a run starts from, before any release."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.value = 0

    async def follow(self, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED) -> None:
        """Keep up with the releases until cancelled; has started once it knows those of the past."""
        past = sum(b.next - b.first for b in (await self._stream.bounds(topics.POLICIES)).values())
        if not past:
            task_status.started()
        async with self._stream.reader(topics.POLICIES, start="earliest") as releases:
            async for release in releases:
                self.value = max(self.value, release.record.policy_version)
                past -= 1
                if past == 0:
                    task_status.started()

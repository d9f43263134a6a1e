"""What a guide spent before this process began, as the run's diagnoses have it."""

from consumers.guides.base import Guide, Spender
from mentor_stream import topics
from mentor_stream.stream import Stream


async def resume(stream: Stream, guide: Guide) -> None:
    """Tell a guide that is bounded over the run what all of its processes have spent: a restart, and a second
    mentor, go on from there."""
    if not (isinstance(guide, Spender) and guide.bounded):
        return
    spent = 0
    async with stream.reader(topics.DIAGNOSES, start="earliest", follow=False) as deliveries:
        async for delivery in deliveries:
            if delivery.record.guide == guide.name:
                spent += delivery.record.prompt_tokens + delivery.record.completion_tokens
    guide.spent_before(spent)

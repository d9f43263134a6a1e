"""A mentor with a guide on a real stream, asked about a question that collapses again and again."""

from pathlib import Path
from typing import NamedTuple

import anyio
from msgspec.structs import replace

from consumers.budget import Budget
from consumers.config import MentorConfig
from consumers.guides.base import Guide
from consumers.leak.guard import Guard
from consumers.mentor import Mentor
from consumers.teaching import Teacher
from mentor_stream import topics
from mentor_stream.prompts import PromptConfig
from mentor_stream.sampling import LengthLimits
from mentor_stream.stream import Stream, connect
from schemas import Diagnosis, Group, Query
from tests.builders import a_group, a_trajectory
from tests.streams import everything, until


class Taught(NamedTuple):
    """What came of it, round by round."""

    diagnoses: list[Diagnosis]
    guided: list[Query]

    @property
    def hints(self) -> list[str]:
        return [query.hint.text for query in self.guided if query.hint]


async def taught(
    tmp_path: Path,
    guide: Guide,
    query: Query,
    *,
    rounds: int = 1,
    attempts: tuple[str, ...] = ("4",) * 4,
    most_words: int = 1000,
) -> Taught:
    """Everything that a mentor publishes about a question whose every lesson collapses too."""
    limits = LengthLimits(prompt=most_words, completion=8, context=None)
    budget = Budget(PromptConfig(), limits, lambda text: len(text.split()))
    teacher, diagnoses, asked = Teacher(guide, Guard("text"), budget), list[Diagnosis](), query
    tmp_path.mkdir(exist_ok=True)
    async with connect(f"sqlite:///{tmp_path}/stream.db?lease=1", "test", "test") as stream:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Mentor(MentorConfig(max_rounds=rounds), stream, teacher).run)
            for _ in range(rounds):
                diagnoses.append(await _diagnosed(stream, a_collapsed_group(asked, *attempts), diagnoses))
                lessons = {lesson.query_id: lesson for lesson in await everything(stream, topics.GUIDED)}
                if (guided_id := diagnoses[-1].guided_query_id) is None:
                    break
                asked = lessons[guided_id]
            tasks.cancel_scope.cancel()
        guided = await everything(stream, topics.GUIDED)
    return Taught(diagnoses, sorted(guided, key=lambda lesson: lesson.attempt))


def a_collapsed_group(query: Query, *attempts: str) -> Group:
    """A group in which every attempt was wrong."""
    return replace(a_group("W", query=query), trajectories=tuple(a_trajectory(text=t) for t in attempts))


async def _diagnosed(stream: Stream, group: Group, before: list[Diagnosis]) -> Diagnosis:
    await stream.publish(topics.COLLAPSED, group)
    diagnoses = await until(stream, topics.DIAGNOSES, len(before) + 1)
    return next(d for d in diagnoses if d.group_id == group.group_id)

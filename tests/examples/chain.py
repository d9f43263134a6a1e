"""Collapsed groups of the chain task, made to order."""

from collections.abc import Callable, Sequence
from random import Random

import schemas
from consumers.guides.base import Case
from examples.chain import task
from tests.builders import a_group, a_query, a_trajectory


def a_question(seed: int = 0) -> task.Question:
    """A question of the task, always the same for a seed."""
    return task.random_question(Random(seed))


def asked(question: task.Question) -> schemas.Query:
    """The question as a plain query."""
    return a_query(str(question), f"{question.values()[-1]:02d}")


def forgetful_at(question: task.Question, steps: Sequence[int]) -> list[int]:
    """An attempt that makes an error of its own at exactly these steps, counted from 1."""
    values, value = [], question.start
    for step, operand in enumerate(question.operands, start=1):
        value = operand.apply(value)
        if step in steps:
            value = (value + 10) % 100
        values.append(value)
    return values


def a_case(
    question: task.Question,
    attempts: Sequence[Sequence[int]],
    *,
    earlier: Sequence[str] = (),
    fits: Callable[[str], bool] = lambda _: True,
) -> Case:
    """The case of a group whose attempts stated these values."""
    trajectories = tuple(a_trajectory("W", text=task.completion(values)) for values in attempts)
    query = asked(question)
    group = schemas.Group(
        group_id=schemas.group_id("test", query.query_id, 0),
        query=query,
        trajectories=trajectories,
        sampling=a_group().sampling,
        worker="test",
        sampled_at=1.0,
    )
    return Case(group=group, round=1, earlier=tuple(earlier), fits=fits)

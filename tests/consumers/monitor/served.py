"""A monitor in a process of its own, and a run for it to show."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import anyio

import schemas
from mentor_stream import stream, topics
from mentor_stream.topics import Topic
from schemas import Diagnosis, Metric, Outcome, Query, Record
from tests.builders import a_group, a_guided_query, a_query

Told = Sequence[tuple[Topic, Record]]


def publish(broker: str, *records: tuple[Topic, Record]) -> None:
    """Append records, in a thread of its own: a browser has an event loop in this one."""

    async def main() -> None:
        async with stream.connect(broker, "run", "rollout") as run:
            for topic, record in records:
                await run.publish(topic, record)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(anyio.run, main, backend="trio").result()


def a_lesson(
    number: int, *, question: str = "", hint: str = "", cause: str = "cannot count", verdicts: str = "RWWW"
) -> Told:
    """A collapsed group, what the mentor made of it, and how it went with the hint."""
    plain = a_query(question or f"What is {number} + 1?", f"{number + 1}", position=number)
    guided = a_guided_query(plain, hint or f"Count on from {number}.")
    return [
        (topics.COLLAPSED, a_group("WWWW", query=plain)),
        (topics.GUIDED, guided),
        (topics.DIAGNOSES, a_diagnosis(plain, guided, cause)),
        (topics.GROUPS, a_group(verdicts, query=guided)),
    ]


def a_diagnosis(plain: Query, guided: Query, cause: str = "cannot count") -> Diagnosis:
    assert guided.hint
    call = schemas.AgentCall(agent="attribution", draft=0, refinement=0, result=cause)
    return Diagnosis(
        group_id=guided.hint.group_id,
        query_id=plain.query_id,
        guide="scripted",
        round=1,
        outcome=Outcome.HINT,
        reason="validated",
        hint=guided.hint,
        guided_query_id=guided.query_id,
        calls=(call,),
        policy_version=0,
    )


def a_step(version: int, time: float, **values: float) -> tuple[Topic, Record]:
    """What the trainer reports of a version."""
    metric = Metric(
        component="trainer",
        instance="host:1",
        time=time,
        policy_version=version,
        values={"reward": 0.5} | values,
    )
    return topics.METRICS, metric


@contextmanager
def serving(config: str, *options: str, port: int = 0, env: dict[str, str] | None = None) -> Iterator[str]:
    """The address of a monitor for the block; one that says nothing is killed after two minutes."""
    command = [sys.executable, "-m", "mentor_stream.cli", "monitor", config, "--port", str(port), *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=env, cwd=Path(__file__).parents[3]
    ) as process:
        limit = threading.Timer(120, process.kill)
        limit.start()
        try:
            assert process.stdout
            address = process.stdout.readline().split(" at ")[1].split(" ")[0]
            yield address
        finally:
            limit.cancel()
            process.send_signal(signal.SIGTERM)
            process.wait(30)

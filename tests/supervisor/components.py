"""Stand-ins for a run's components: the whole flow in miniature, on a real stream, without a model.

python -m tests.supervisor.components COMMAND CONFIG; behaves as STAND_IN_<COMMAND> says: "" (as it should),
"hang" (start and do nothing), "die" (at once), "clumsy" (the trainer: die right after the final release).
"""

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

import anyio

import schemas
from mentor_stream import snapshots, topics
from mentor_stream.config import Config, load
from mentor_stream.process import serve
from mentor_stream.stream import connect
from mentor_stream.supervisor.config import SupervisorConfig
from mentor_stream.telemetry import report
from mentor_stream.topics import TopicsConfig
from tests.builders import a_group, a_guided_query, a_query

QUESTIONS = 4


async def feed(config: Config) -> None:
    async with connect(config.run.broker, config.run.name, "feeder") as stream:
        fed = sum(b.next for b in (await stream.bounds(topics.QUERIES)).values())
        for position in range(fed, QUESTIONS):
            await stream.publish(topics.QUERIES, a_query(position=position))


async def rollout(config: Config) -> None:
    async with (
        connect(config.run.broker, config.run.name, "rollout") as stream,
        stream.consumer(topics.GUIDED, topics.QUERIES) as queries,
    ):
        async for delivery in queries:
            guided = delivery.record.hint is not None
            group = a_group("WR" if guided else "WW", query=delivery.record, run=config.run.name)
            await stream.publish(topics.GROUPS if guided else topics.COLLAPSED, group)
            delivery.done()


async def mentor(config: Config) -> None:
    async with (
        connect(config.run.broker, config.run.name, "mentor") as stream,
        stream.consumer(topics.COLLAPSED) as cases,
    ):
        async for delivery in cases:
            await stream.publish(topics.GUIDED, a_guided_query(delivery.record.query))
            delivery.done()


async def train(config: Config) -> None:
    """One version a group; finishes when it is told that no more groups will come."""
    async with (
        connect(config.run.broker, config.run.name, "trainer") as stream,
        stream.reader(topics.GROUPS, start="earliest") as groups,
        anyio.create_task_group() as tasks,
    ):
        version = 0
        snapshot = snapshots.write(config.run.directory / "snapshots", 0, _write_model)

        async def release(final: bool) -> None:
            consumed = schemas.Consumed(
                resolved=QUESTIONS, collapsed=QUESTIONS, guided=version, rescued=version, tokens=12 * version
            )
            await stream.publish(
                topics.POLICIES,
                schemas.PolicyRelease(
                    policy_version=version,
                    step=version,
                    uri=str(snapshot.path),
                    digest=snapshot.digest,
                    consumed=consumed,
                    final=final,
                    published_at=time.time(),
                ),
            )

        async def finish_when_told() -> None:
            with anyio.open_signal_receiver(signal.SIGUSR1) as signals:
                async for _ in signals:
                    await release(final=True)
                    if os.environ.get("STAND_IN_TRAIN") == "clumsy":
                        os.kill(os.getpid(), signal.SIGUSR2)
                    tasks.cancel_scope.cancel()

        tasks.start_soon(finish_when_told)
        await release(final=False)
        async for _ in groups:
            version += 1
            values = {"step": version, "reward": 0.5, "generated_tokens": 12.0 * version}
            await report(stream, values, policy_version=version)
            await release(final=False)


async def evaluate(config: Config) -> None:
    async with (
        connect(config.run.broker, config.run.name, "evaluator") as stream,
        stream.reader(topics.POLICIES, start="earliest") as releases,
    ):
        async for delivery in releases:
            release = delivery.record
            values = {
                "heldout_accuracy": release.policy_version / QUESTIONS,
                "heldout_questions": 50,
                "generated_tokens": float(release.consumed.tokens),
            }
            await report(stream, values, policy_version=release.policy_version)
            if release.final:
                return


async def hang(_: Config) -> None:
    await anyio.sleep_forever()


def _write_model(directory: Path) -> None:
    (directory / "config.json").write_text("{}")


def read_config(path: Path) -> Config:
    """The config of a run of stand-ins: it has no other sections."""
    return load(path, [SupervisorConfig, TopicsConfig])


if __name__ == "__main__":
    command, path = sys.argv[1:]
    behaviour = os.environ.get(f"STAND_IN_{command.upper()}", "")
    sys.stdout.write(f"{command} starts\n")
    sys.stdout.flush()
    if behaviour == "die":
        sys.exit(7)
    main = (
        hang
        if behaviour == "hang"
        else {f.__name__: f for f in (feed, rollout, mentor, train, evaluate)}[command]
    )
    serve(partial(main, read_config(Path(path))))

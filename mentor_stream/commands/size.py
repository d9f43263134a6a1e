"""`mentor-stream size`: how many of everything a run needs."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mentor_stream.commands.arguments import AsJson, ConfigFile

if TYPE_CHECKING:
    from mentor_stream.config import Config
    from mentor_stream.sizing.measured import Pace
    from mentor_stream.sizing.plan import Cluster, Need
    from mentor_stream.sizing.workload import Workload

app = typer.Typer()

HOURS = 72.0
"""That a stream is taken to be kept whose retention is for ever: the run's length, unless told."""
TOKENS_A_SECOND = 40.0
"""Of one sequence among many in an engine, for want of a measurement."""

LARGEST = 1e12
"""Of any number that is given: a plan of what nobody has would be of numbers that are none."""


def _number(help: str, least: float = 1e-6, most: float = LARGEST) -> Any:  # noqa: A002
    """An option that takes a number; its bounds are told to who goes beyond them."""

    def bounded(value: float | None) -> float | None:
        if value is not None and not least <= value <= most:  # nan neither
            raise typer.BadParameter(f"{value:g} is not from {least:g} to {most:g}")
        return value

    return typer.Option(metavar="NUMBER", help=help, callback=bounded)


Rate = Annotated[
    float | None, _number("Completion tokens a second that are trained on, by all ranks together.")
]
Sampled = Annotated[float | None, _number("Completion tokens a second of one rollout worker.")]
Tokens = Annotated[float | None, _number("Of a completion, the mean.  [default: rollout.max_new_tokens]", 1)]
Share = Annotated[float | None, _number("Share of groups neither all right nor all wrong.", 0.001, 1)]
Collapsed = Annotated[float | None, _number("Share of groups that are all wrong.", 0, 1)]
Seconds = Annotated[float | None, _number("That sampling and scoring a group takes.", 0.001)]
Case = Annotated[float | None, _number("That a mentor takes for a case.", 0.001)]
Hours = Annotated[float | None, _number("That the stream is kept, or the run takes.", 0.001)]
TrainerGpus = Annotated[int, _number("GPUs that train.", 1)]
RolloutGpus = Annotated[int, _number("GPUs of a rollout worker.", 1)]
FromRun = Annotated[bool, typer.Option("--from-run", help="Take what is not given from CONFIG's own run.")]


@app.command(
    short_help="Work out workers, mentors, partitions, brokers and disk.",
    epilog="Example: mentor-stream size examples/chain/demo.toml --from-run --hours 48",
)
def size(
    config: ConfigFile,
    trained_rate: Rate = None,
    sampled_rate: Sampled = None,
    completion_tokens: Tokens = None,
    teaching: Share = None,
    collapsed: Collapsed = None,
    group_seconds: Seconds = None,
    case_seconds: Case = None,
    trainer_gpus: TrainerGpus = 1,
    rollout_gpus: RolloutGpus = 1,
    hours: Hours = None,
    from_run: FromRun = False,
    json: AsJson = False,
) -> None:
    """Work out rollout workers, mentors, partitions, brokers and disk for CONFIG at the pace given.

    What you measured goes first, then --from-run, then a guess that is named as one.
    """
    from mentor_stream.commands.run import load
    from mentor_stream.sizing.measured import Pace
    from mentor_stream.sizing.plan import plan
    from mentor_stream.sizing.weights import weights

    run = load(config)
    given = Pace(trained_rate, sampled_rate, completion_tokens, teaching, collapsed, case_seconds)
    assumed: dict[str, float] = {}
    load_ = _workload(run, given, _pace(run) if from_run else Pace(), group_seconds, assumed)
    cluster = _cluster(run, trainer_gpus, rollout_gpus, hours, assumed)
    needs = plan(load_, cluster, weights(run.run.policy))
    _print(needs, assumed, as_json=json)


def _workload(
    config: "Config", given: "Pace", measured: "Pace", group_seconds: float | None, assumed: dict[str, float]
) -> "Workload":
    from mentor_stream.prompts import PromptConfig
    from mentor_stream.sampling import RolloutConfig
    from mentor_stream.sizing.workload import Workload

    rollout = config.of(RolloutConfig)

    def known(name: str, guess: float) -> float:
        for found in (getattr(given, name), getattr(measured, name)):
            if found is not None:
                return found
        assumed[name] = guess
        return guess

    completion = known("completion_tokens", rollout.max_new_tokens)
    if group_seconds is None:
        group_seconds = assumed["group_seconds"] = completion / TOKENS_A_SECOND
    return Workload(
        group_size=rollout.group_size,
        batch_groups=config.run.batch_groups,
        trained_rate=known("trained_rate", 10_000),
        sampled_rate=known("sampled_rate", 5_000),
        completion_tokens=completion,
        prompt_tokens=config.of(PromptConfig).max_prompt_tokens,
        teaching=known("teaching", 0.5),
        collapsed=known("collapsed", 0.3),
        group_seconds=group_seconds,
        case_seconds=known("case_seconds", 60),
        concurrency=int(_setting(config, "mentor", "concurrency", 16)),
    )


def _cluster(
    config: "Config", trainer_gpus: int, rollout_gpus: int, hours: float | None, assumed: dict[str, float]
) -> "Cluster":
    from mentor_stream.sizing.plan import Cluster
    from mentor_stream.topics import GROUPS, TopicsConfig

    groups = config.of(TopicsConfig).spec(GROUPS, config.run.name)
    if hours is None and groups.retention_seconds is None:
        assumed["hours"] = HOURS
    kept = hours or (groups.retention_seconds or HOURS * 3600) / 3600
    parallel = _setting(config, "trainer", "tensor_parallel", 1) * _setting(
        config, "trainer", "pipeline_parallel", 1
    )
    return Cluster(
        replication=groups.replication,
        partitions=groups.partitions,
        max_staleness=config.run.max_staleness,
        keep_hours=kept,
        publish_every=_setting(config, "trainer", "publish_every", 1),
        keep_snapshots=_setting(config, "trainer", "keep_snapshots", 4),
        keep_checkpoints=_setting(config, "trainer", "keep_checkpoints", 2),
        rollout_gpus=rollout_gpus,
        trainer_gpus=trainer_gpus,
        model_parallel=parallel,
    )


def _setting(config: "Config", table: str, name: str, otherwise: int) -> int:
    """Of a component that may not be installed here."""
    return getattr(config.sections.get(table), name, otherwise)


def _pace(config: "Config") -> "Pace":
    from functools import partial

    import anyio

    from mentor_stream.sampling import RolloutConfig
    from mentor_stream.sizing.measured import measured

    found = anyio.run(partial(measured, config.run.broker, config.run.name), backend="trio")
    return found.pace(config.of(RolloutConfig).group_size, config.run.batch_groups)


def _print(needs: "list[Need]", assumed: dict[str, float], *, as_json: bool) -> None:
    from dataclasses import asdict

    from mentor_stream.commands.output import print_json, say, table

    if as_json:
        document: dict[str, Any] = {"needs": [asdict(need) for need in needs], "assumed": assumed}
        print_json(document)
        return
    table(
        ("", "needed", "because"),
        [(need.name, f"{_shown(need.value)} {need.unit}", need.why) for need in needs],
    )
    if assumed:
        guesses = ", ".join(f"--{name.replace('_', '-')} {_shown(value)}" for name, value in assumed.items())
        say(f"\nAssumed, since neither given nor measured: {guesses}")
    for need in needs:
        if need.short:
            say(f"\n{need.short}.")


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"

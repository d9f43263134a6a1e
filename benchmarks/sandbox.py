"""What it costs to run programs in a sandbox, and how well verdicts agree with their labels.

    python -m benchmarks.sandbox
    python -m benchmarks.sandbox --json

Everything but the judge runs on one core. `run` is one program that does nothing, `test` one of ten tests of
a right program on standard input, `call` one of a hundred calls of a function; the baseline of each is a bare
`bwrap ... python -c pass` for every one of them, in turns with ours. `judge` is whole completions with ten
tests through the judge and its workers, against as many bare runs. `agreement` is the share of labelled
completions (tests/producers/rewards) that get their label; its baseline gives all the most frequent one.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from statistics import median

import anyio

import schemas
from benchmarks.rows import Finding, Wanted, row, show
from producers.judging.judge import RewardConfig, running
from producers.rewards.base import Reward, Unscorable
from producers.rewards.choice import Config as ChoiceConfig
from producers.rewards.choice import build as build_choice
from producers.rewards.code import Config, build
from producers.rewards.code.execution import Job, execute
from producers.rewards.code.sandbox import Sandbox, own_interpreter
from producers.rewards.code.starting import ready
from producers.rewards.code.watch import Allowance
from schemas import Verdict
from tests.builders import a_query
from tests.producers.rewards.labelled import Labelled, choices, programs

TESTS, CALLS = 10, 100
PRINTS = a_query(reference=json.dumps([{"input": f"{n} {n}", "output": f"{2 * n}"} for n in range(TESTS)]))
RETURNS = a_query(
    reference=json.dumps(
        {"fn_name": "add", "inputs": [[n, n] for n in range(CALLS)], "outputs": [2 * n for n in range(CALLS)]}
    )
)
SUM = "```python\nprint(sum(map(int, input().split())))\n```"
ADD = "```python\ndef add(a, b):\n    return a + b\n```"
NOTHING = Allowance(5, 15, 5, 15, 1000)


def bare() -> None:
    """The least that bubblewrap and Python take."""
    python, *options = own_interpreter().command
    homes = [word for home in own_interpreter().homes for word in ("--ro-bind", str(home), str(home))]
    system = [word for place in ("/usr", "/lib", "/lib64") for word in ("--ro-bind-try", place, place)]
    isolated = ["--unshare-all", "--die-with-parent", "--new-session"]
    command = ["bwrap", *isolated, *system, *homes, "--tmpfs", "/tmp", python, *options, "-c", "pass"]
    subprocess.run(command, check=True, capture_output=True)


def nothing(sandbox: Sandbox) -> None:
    """Our run of a program that does nothing."""
    run = execute(sandbox, Job("", "pass"), NOTHING)
    assert (run.end, run.status) == ("left", 0), run


def right(reward: Reward, query: schemas.Query, completion: str) -> None:
    """One right completion, judged."""
    judgement = reward.score(query, completion)
    assert judgement.right, judgement


def rate(work: Callable[[], None], count: int) -> float:
    """How many of the `count` things that one call does are done in a second."""
    start = time.perf_counter()
    work()
    return count / (time.perf_counter() - start)


def compare(name: str, count: int, ours: Callable[[], None], rounds: int, at_least: float) -> Finding:
    """Medians of ours and of as many bare runs, one after the other."""
    pairs = [(rate(ours, count), rate(bare, 1)) for _ in range(rounds)]
    mine, theirs = (median(rates) for rates in zip(*pairs, strict=True))
    return row(name, mine, "1/s", theirs), Wanted("ratio", "at least", at_least)


def throughput(completions: int) -> Finding:
    """Completions a second through the judge, on as many workers as there are cores."""
    cores = os.cpu_count() or 1
    config = RewardConfig(verifier={"kind": "code"}, workers=cores, timeout_seconds=4, memory_megabytes=1024)

    async def judged() -> float:
        async with running(config) as judge:
            await judge.score(PRINTS, [SUM] * cores)  # every worker is there
            start = time.perf_counter()
            scores = await judge.score(PRINTS, [SUM] * completions)
            seconds = time.perf_counter() - start
        assert all(score.verdict is Verdict.RIGHT for score in scores)
        return completions / seconds

    found = anyio.run(judged, backend="trio")
    single = median(rate(bare, 1) for _ in range(TESTS))
    return row("code.judge", found, "completions/s", single * cores / TESTS), Wanted("ratio", "at least", 0.4)


def agreement(name: str, cases: Sequence[Labelled], build_one: Callable[[Labelled], Reward]) -> Finding:
    """The share of cases with the verdict of their label."""
    agreed = sum(_verdict(build_one(case), case) is case.verdict for case in cases)
    (_, most), *_ = Counter(case.verdict for case in cases).most_common()
    return row(f"{name}.agreement", agreed / len(cases), f"of {len(cases)}", most / len(cases)), Wanted(
        "value", "at least", 0.98
    )


def _verdict(reward: Reward, case: Labelled) -> Verdict:
    try:
        return Verdict.RIGHT if reward.score(case.query, case.completion).right else Verdict.WRONG
    except Unscorable:
        return Verdict.UNSCORABLE


def findings(rounds: int, *, quick: bool) -> Iterator[Finding]:
    """All rows."""
    yield throughput(2 if quick else 40)
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(every)})
    sandbox, reward = ready(Config()), build(Config())
    yield compare("sandbox.run", 1, lambda: nothing(sandbox), rounds, 0.5)
    yield compare("code.test", TESTS, lambda: right(reward, PRINTS, SUM), rounds, 0.4)
    yield compare("code.call", CALLS, lambda: right(reward, RETURNS, ADD), rounds, 10)
    os.sched_setaffinity(0, every)
    step = 20 if quick else 1
    yield agreement(
        "choice", list(choices())[::step], lambda case: build_choice(ChoiceConfig(**case.options))
    )
    made = {share: build(Config(reward=share)) for share in ("all", "fraction")}
    yield agreement("code", list(programs())[::step], lambda case: made[case.options.get("reward", "all")])


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--quick", action="store_true", help="a little of each, to see that it runs")
    options = parser.parse_args()
    if shutil.which("bwrap") is None:
        sys.exit("bubblewrap is not installed: apt-get install bubblewrap")
    show(findings(1 if options.quick else 41, quick=options.quick), as_json=options.json)


if __name__ == "__main__":
    main()

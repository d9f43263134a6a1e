"""What programs do that were not written to solve anything."""

import json
import os
import re
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest

from mentor_stream.config import ConfigError
from producers.judging.judge import Judge, RewardConfig, running
from producers.rewards.base import Judgement, Unscorable
from producers.rewards.code import Config, build, check
from producers.rewards.code.execution import Job, execute
from producers.rewards.code.sandbox import USERS, Bubblewrap, Limits, NotStarted, own_interpreter
from producers.rewards.code.watch import Allowance
from schemas import Verdict
from tests.builders import a_query
from tests.producers.rewards.nasty import CHEATING, DYING, ESCAPING, SEARCH, WEARING
from tests.producers.rewards.verifiers import judged, needs_bubblewrap, verifier

pytestmark = needs_bubblewrap
R, W, U = Verdict.RIGHT, Verdict.WRONG, Verdict.UNSCORABLE
SMALL = {
    "test_seconds": 2,
    "total_seconds": 10,
    "memory_megabytes": 256,
    "output_megabytes": 1,
    "disk_megabytes": 4,
}
SHORT = {"test_seconds": 0.2}
"""Of CPU time: three times as many by the clock."""
EXPECTED = "471100112233"
PRINTED = a_query(reference=json.dumps([{"input": "1", "output": EXPECTED}]))
RETURNED = a_query(reference=json.dumps({"fn_name": "secret", "inputs": [[1]], "outputs": [int(EXPECTED)]}))


def fenced(program: str) -> str:
    return f"```python\n{program}\n```"


def inmates() -> set[str]:
    """Processes of sandboxes, whoever started them."""
    found: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            inside = process.stat().st_uid in USERS or b"/runner.py" in (process / "cmdline").read_bytes()
        except OSError:
            continue
        if inside:
            found.add(process.name)
    return found


def story(process: str) -> str:
    """What can be seen of a process and of those above it."""
    seen: list[str] = []
    while process not in ("0", "1"):
        try:
            place = Path("/proc") / process
            status = dict(line.split(":\t", 1) for line in (place / "status").read_text().splitlines())
            command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            wchan = (place / "wchan").read_text()
        except (OSError, ValueError) as error:
            seen.append(f"{process}: {error}")
            break
        seen.append(
            f"{process} {status['State']} in {wchan}, user {status['Uid'].split()[0]}: {command[:200]}"
        )
        process = status["PPid"]
    return "\n    under ".join(seen)


@pytest.fixture(autouse=True)
def nobody_is_left() -> Iterator[None]:
    """Whoever is there after a test goes; sandboxes of others, too, have an end."""
    yield
    left, until = inmates(), time.monotonic() + 60
    while left and time.monotonic() < until:
        time.sleep(0.01)
        left &= inmates()
    assert not left, "\n".join(map(story, sorted(left)))


@pytest.mark.parametrize("name", DYING)
def test_a_program_that_ends_badly_is_wrong(name: str) -> None:
    program, remark = DYING[name]
    verdict, said = judged(verifier(**SMALL), PRINTED, fenced(program))
    assert verdict is W, said
    assert isinstance(said, Judgement)
    assert re.search(remark, said.remark), said


@pytest.mark.parametrize("name", ESCAPING)
def test_a_program_does_not_get_out(name: str) -> None:
    told = f"\nprint({EXPECTED} if escaped else 0)"
    verdict, said = judged(verifier(**SMALL), PRINTED, fenced(ESCAPING[name] + told))
    assert verdict is W, said


@pytest.mark.parametrize("name", WEARING)
def test_a_program_that_will_not_end_is_wrong(name: str) -> None:
    verdict, said = U, "the machine is too busy"
    while verdict is U and "too busy" in str(said):  # then nobody is condemned, and everybody asked again
        verdict, said = judged(verifier(**SMALL | SHORT), PRINTED, fenced(WEARING[name]))
    assert verdict is W, said


@pytest.mark.parametrize("name", CHEATING)
def test_a_function_that_cheats_is_wrong(name: str) -> None:
    verdict, said = judged(verifier(**SMALL), RETURNED, fenced(CHEATING[name]))
    assert verdict is W, said


@pytest.mark.parametrize("name", ESCAPING)
def test_a_program_does_not_get_out_of_a_user_namespace(name: str) -> None:
    """What an ordinary user gets, and root where it may not mount: then nobody but the namespace holds it."""
    limits = Limits(cpu_seconds=10, memory_bytes=2**28, disk_bytes=2**22)
    told = "\nprint('escaped' if escaped else 'held')"
    allowed = Allowance(2, 6, 10, 30, 10**6)
    try:
        run = execute(Bubblewrap(limits, own_interpreter(), None), Job("", ESCAPING[name] + told), allowed)
    except NotStarted as error:
        pytest.skip(f"no user namespace here: {error}")
    assert b"escaped" not in run.output, run


def test_what_is_expected_is_nowhere_to_be_found() -> None:
    reward = verifier(memory_megabytes=512)
    for query, end in ((PRINTED, "print(answer)"), (RETURNED, "def secret(x):\n    return int(answer)")):
        verdict, said = judged(reward, query, fenced(SEARCH + end))
        assert verdict is W, said
    given = a_query(reference=json.dumps([{"input": EXPECTED, "output": EXPECTED}]))
    assert judged(reward, given, fenced(SEARCH + "print(answer)"))[0] is R  # the search does find


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
async def judge() -> AsyncIterator[Judge]:
    table = {"kind": "code", **SMALL}
    config = RewardConfig(verifier=table, workers=2, timeout_seconds=4, memory_megabytes=1024)
    async with running(config) as found:
        yield found


@pytest.mark.anyio
async def test_a_judge_that_is_flooded_judges_on(judge: Judge) -> None:
    right = fenced(f"print({EXPECTED})")
    floods = ["x" * 10**8, "```python\n" * 10**6, "`" * 10**7, fenced("x = " + "[" * 10**6), "\n" * 10**7]
    scores = await judge.score(PRINTED, [right, *floods, right])
    assert [score.verdict for score in scores] == [R, *[W] * 5, R], scores


@pytest.mark.anyio
async def test_a_worker_that_is_killed_takes_its_sandbox_along() -> None:
    """That nobody is left is what is seen after each test here."""
    async with (
        running(RewardConfig(verifier={"kind": "code"}, workers=1)) as judge,
        anyio.create_task_group() as judging,
    ):
        judging.start_soon(judge.score, PRINTED, [fenced(WEARING["sleeps for ever"])])
        with anyio.fail_after(60):
            while not inmates():
                await anyio.sleep(0.01)
        judging.cancel_scope.cancel()


def test_a_sandbox_that_is_killed_from_outside_says_nothing_of_the_program() -> None:
    """Twice: it is tried again after the first time."""
    reward = verifier()
    stop = threading.Event()

    def kill_whatever_runs() -> None:
        while not stop.is_set():
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if "/bwrap\0" in (process / "cmdline").read_text() and _parent(process) == os.getpid():
                        os.kill(int(process.name), 9)
                except OSError:
                    pass

    killer = threading.Thread(target=kill_whatever_runs)
    killer.start()
    try:
        with pytest.raises(Unscorable, match=r"outside|did not start"):
            reward.score(PRINTED, fenced(WEARING["sleeps for ever"]))
    finally:
        stop.set()
        killer.join()


def _parent(process: Path) -> int:
    return int((process / "stat").read_text().rpartition(")")[2].split()[1])


def test_a_missing_sandbox_is_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reward = build(Config())
    monkeypatch.setenv("PATH", str(tmp_path))
    (problem,) = check(Config())
    assert problem.startswith("reward.verifier.sandbox is 'bubblewrap': bwrap is not installed.")
    assert "apt-get install bubblewrap" in problem
    assert "rlimits" in problem
    with pytest.raises(ConfigError, match="apt-get install bubblewrap"):
        build(Config())
    with pytest.raises(Unscorable, match="bwrap"):
        reward.score(PRINTED, fenced("print(1)"))


def test_an_interpreter_that_is_none_is_named() -> None:
    (problem,) = check(Config(python=Path("/nowhere/python")))
    assert problem.startswith("reward.verifier.python is '/nowhere/python'")

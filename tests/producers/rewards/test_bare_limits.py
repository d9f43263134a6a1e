"""`sandbox = "rlimits"`: what is left when nothing but limits and refused system calls holds a program."""

import json
from pathlib import Path

import pytest

from producers.rewards.code import Config
from producers.rewards.code.syscalls import refusing
from schemas import Verdict
from tests.builders import a_query
from tests.producers.rewards.nasty import CHEATING, DYING, ESCAPING
from tests.producers.rewards.verifiers import judged, verifier

SMALL = {"sandbox": "rlimits", "test_seconds": 2, "total_seconds": 10, "memory_megabytes": 256}
EXPECTED = "471100112233"
PRINTED = a_query(reference=json.dumps([{"input": EXPECTED, "output": EXPECTED}]))
RETURNED = a_query(reference=json.dumps({"fn_name": "secret", "inputs": [[1]], "outputs": [int(EXPECTED)]}))
SIGNALS = """
import os
escaped = False
for process in (os.getppid(), os.getpid(), 1):
    try:
        os.kill(process, 0)
        escaped = True
    except OSError:
        pass"""
STILL_REFUSED = {
    name: ESCAPING[name]
    for name in (
        "forks by other means", "leaves a daemon", "has memory of nobody", "has a namespace of its own",
        "mounts", "traces", "has a socket", "feeds itself", "has an environment",
    )
} | {"sends signals": SIGNALS}  # fmt: skip

pytestmark = pytest.mark.skipif(not refusing(), reason="no filter for this machine's system calls")


def fenced(program: str) -> str:
    return f"```python\n{program}\n```"


def test_a_right_program_and_a_right_function_are_right() -> None:
    assert judged(verifier(**SMALL), PRINTED, fenced("print(input())"))[0] is Verdict.RIGHT
    answer = fenced(f"def secret(x):\n    return {EXPECTED}")
    assert judged(verifier(**SMALL), RETURNED, answer)[0] is Verdict.RIGHT


@pytest.mark.parametrize("name", STILL_REFUSED)
def test_what_the_filter_refuses_is_still_refused(name: str) -> None:
    told = f"\nprint({EXPECTED} if escaped else 0)"
    verdict, said = judged(verifier(**SMALL), PRINTED, fenced(STILL_REFUSED[name] + told))
    assert verdict is Verdict.WRONG, said


@pytest.mark.parametrize(
    "name", ["takes all memory slowly", "nests deeply", "recurses for ever", "leaves at once"]
)
def test_a_program_that_ends_badly_is_wrong(name: str) -> None:
    verdict, said = judged(verifier(**SMALL), PRINTED, fenced(DYING[name][0]))
    assert verdict is Verdict.WRONG, said


@pytest.mark.parametrize("name", CHEATING)
def test_a_function_that_cheats_is_wrong(name: str) -> None:
    verdict, said = judged(verifier(**SMALL), RETURNED, fenced(CHEATING[name]))
    assert verdict is Verdict.WRONG, said


def test_files_of_the_host_are_there_as_the_option_says(tmp_path: Path) -> None:
    """If this fails the option has become stronger: say so in docs/rewards.md."""
    (tmp_path / "secret").write_text(EXPECTED)
    program = f"print(open({str(tmp_path / 'secret')!r}).read())"
    assert judged(verifier(**SMALL), PRINTED, fenced(program))[0] is Verdict.RIGHT
    assert "not for a policy" in (Config.model_fields["sandbox"].description or "")

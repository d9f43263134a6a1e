"""Programs that attack tests in Python code, or what passes between the two. Kinds are those of nasty.py."""

# ruff: noqa: E501 - programs are written as people would write them

import json
import os
import threading
from pathlib import Path

import pytest

from producers.rewards.base import Unscorable
from producers.rewards.script import Config, build
from schemas import Verdict
from tests.builders import a_query
from tests.producers.rewards.nasty import CHEATING, DYING, ESCAPING, SEARCH, WEARING
from tests.producers.rewards.verifiers import judged, needs_bubblewrap

pytestmark = needs_bubblewrap
R, W = Verdict.RIGHT, Verdict.WRONG
EXPECTED = 471100112233
LISTED = a_query(reference=json.dumps({"test_list": [f"assert secret(1) == {EXPECTED}"]}))
CHECKED = a_query(
    reference=json.dumps(
        {
            "prompt": "def secret(x):\n",
            "test": f"def check(candidate):\n    assert all(map(lambda x: candidate(x) == {EXPECTED}, [1, 2]))\n",
            "entry_point": "secret",
        }
    )
)
SMALL = {
    "test_seconds": 0.5,
    "total_seconds": 3,
    "memory_megabytes": 256,
    "output_megabytes": 1,
    "disk_megabytes": 4,
}
REWARD = build(Config.model_validate(SMALL))
OWN = {
    "stops the loop of the tests": "def secret(x): raise StopIteration",
    "replaces the checker": "import builtins\nbuiltins.AssertionError = type('E', (Exception,), {})\ndef secret(x): return 0",
    "looks for a token": """
import gc, os
def secret(x):
    for thing in gc.get_objects():
        if isinstance(thing, dict) and 'token' in thing:
            for n in range(3, 9):
                try: os.write(n, (thing['token'] + '+\\n').encode())
                except (OSError, TypeError): pass
    return 0""",
    "answers before it is asked": """
import os
for n in range(1, 9):
    try: os.write(n, b'#1\\n+\\n+\\n{"value": true}\\n')
    except OSError: pass
def secret(x): return 0""",
    "answers with what is no value": 'import os\nos.write(4, b\'{"value": {"object": [], "tuple": 1}}\\n\')\ndef secret(x): return 0',
    "answers with a call": 'import os\nfor n in range(3, 9):\n    try: os.write(n, b\'{"value": {"exec": ["1"]}}\\n\')\n'
    "    except OSError: pass\ndef secret(x): return 0",
    "answers with an error of every class": "def secret(x): raise type('E', (AssertionError, SystemExit), {})",
    "returns a range without end": "def secret(x): return range(10**18)",
    "returns itself as a function": "def secret(x): return secret",
    "returns what has every attribute": """
class Any:
    def __getattr__(self, name): return Any()
    def __call__(self, *given): return Any()
    def __eq__(self, other): return True
def secret(x): return Any()""",
    "reads all questions": "import os\nwhile True:\n    for n in range(9):\n        try: os.read(n, 10)\n        except OSError: pass",
    "hangs when asked": "def secret(x):\n    while True: pass",
    "returns depth": "def secret(x):\n    x = []\n    for _ in range(40_000): x = [x]\n    return x",
    "prints for ever when asked": "import sys\ndef secret(x):\n    while True: print('x' * 10**6, file=sys.stderr)",
}  # fmt: skip


def fenced(program: str) -> str:
    return f"```python\n{program}\n```"


@pytest.mark.parametrize("name", CHEATING)
def test_a_function_that_cheats_is_wrong(name: str) -> None:
    verdict, said = judged(REWARD, LISTED, fenced(CHEATING[name]))
    assert verdict is W, said


@pytest.mark.parametrize("name", OWN)
def test_what_passes_between_program_and_tests_carries_no_verdict(name: str) -> None:
    verdict, said = judged(REWARD, CHECKED, fenced(OWN[name]))
    assert verdict is W, said


@pytest.mark.parametrize(
    "program",
    [
        *(WEARING[name] for name in ("loops for ever", "holds the interpreter", "sleeps for ever")),
        *(
            DYING[name][0]
            for name in ("takes all memory slowly", "crashes", "kills itself", "recurses for ever")
        ),
    ],
)
def test_a_program_that_will_not_be_asked_is_wrong(program: str) -> None:
    verdict, said = judged(REWARD, CHECKED, fenced(f"def secret(x): return {EXPECTED}\n{program}"))
    assert verdict is W, said


def test_the_sandbox_is_that_of_the_verifier_code() -> None:
    for name in ("has the network", "reads the host", "forks by other means", "kills what runs it"):
        program = f"{ESCAPING[name]}\ndef secret(x): return {EXPECTED} if escaped else 0"
        assert judged(REWARD, LISTED, fenced(program))[0] is W, name


def test_what_is_expected_is_nowhere_to_be_found() -> None:
    for query in (LISTED, CHECKED):
        verdict, said = judged(REWARD, query, fenced(SEARCH + "def secret(x): return int(answer)"))
        assert verdict is W, said
    given = a_query(reference=json.dumps({"test_list": [f"assert secret({EXPECTED}) == {EXPECTED}"]}))
    late = f"def secret(x):\n    scope = {{}}\n    exec({SEARCH!r}, scope)\n    return int(scope['answer'])"
    assert judged(build(Config()), given, fenced(late))[0] is R  # the search does find


@pytest.mark.parametrize("which", [0, 1])
def test_a_sandbox_that_is_killed_from_outside_says_nothing_of_the_program(which: int) -> None:
    """That of the tests is started first."""
    stop = threading.Event()

    def kill() -> None:
        while not stop.wait(0.01):
            if len(there := sandboxes()) > 1:
                os.kill(there[which], 9)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with pytest.raises(Unscorable, match=r"outside|did not start"):
            REWARD.score(CHECKED, fenced("import time\ndef secret(x): time.sleep(60)"))
    finally:
        stop.set()
        killer.join()


def sandboxes() -> list[int]:
    """Those of this process, in the order of their start."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return sorted(int(child) for child in children if _is_sandbox(child))


def _is_sandbox(process: str) -> bool:
    try:
        return "/bwrap\0" in Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return False


def test_an_honest_program_is_right_before_the_same_tests() -> None:
    for query in (LISTED, CHECKED):
        assert judged(REWARD, query, fenced(f"def secret(x): return {EXPECTED}"))[0] is R

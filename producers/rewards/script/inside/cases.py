"""Test cases of unittest, each a test."""

import unittest
from collections.abc import Callable
from typing import Any

from producers.rewards.script.inside.running import reason as reason_of


def run_cases(cases: list[Any], tell: Callable[[str], None]) -> None:
    """Hold the tests of these classes, as `test` tells of them."""
    suite = unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromTestCase, cases))
    tell(f"#{suite.countTestCases()}")
    suite.run(_Telling(tell))


class _Telling(unittest.TestResult):
    """Tells what becomes of each test. One that is skipped is not met: it may be the program that does so."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell
        self._trouble: str | None = None
        self._running = False

    def startTest(self, test: Any) -> None:  # noqa: N802
        self._trouble, self._running = None, True
        super().startTest(test)

    def stopTest(self, test: Any) -> None:  # noqa: N802
        super().stopTest(test)
        self._running = False
        self._tell("+" if self._trouble is None else f"-{self._trouble}")

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self._fail(reason_of(err[1]))

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self._fail(reason_of(err[1]))

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None:
            self._fail(reason_of(err[1]))

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self._fail("a test is skipped")

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        self._fail("a test that should fail does not")

    def _fail(self, reason: str) -> None:
        self._trouble = reason
        if not self._running:  # what is set up for a whole class
            self._tell(f"-{reason}")

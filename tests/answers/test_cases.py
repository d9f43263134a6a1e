"""The verifier against tables of labelled answers (cases.txt says by what conventions)."""

from pathlib import Path

import pytest

from producers.rewards import math
from tests.answers.labelled import TABLES, cases
from tests.builders import a_query

REWARD = math.build(math.Config())


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_the_verifier_agrees_with_every_label(table: Path) -> None:
    labelled = cases(table)
    judged = [REWARD.score(a_query(reference=case.reference), case.completion) for case in labelled]
    differing = [
        f"{case.place} is labelled {'right' if case.right else 'wrong'}: {case.completion!r}"
        for case, judgement in zip(labelled, judged, strict=True)
        if judgement.right != case.right
    ]
    agreement = 1 - len(differing) / len(labelled)
    assert not differing, f"agreement {agreement:.1%} on {len(labelled)} cases"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_every_reference_is_its_own_right_answer(table: Path) -> None:
    references = {case.reference for case in cases(table)}
    boxed = {reference: rf"Thus \boxed{{{reference}}}." for reference in references}
    wrong = [one for one, text in boxed.items() if not REWARD.score(a_query(reference=one), text).right]
    assert not wrong


def test_the_tables_are_large_and_balanced() -> None:
    for table, least in zip(TABLES, (250, 60), strict=True):
        labels = [case.right for case in cases(table)]
        assert len(labels) >= least
        assert 0.45 < sum(labels) / len(labels) < 0.55


def test_no_case_is_in_the_tables_twice() -> None:
    rows = [(case.reference, case.completion) for table in TABLES for case in cases(table)]
    assert len(set(rows)) == len(rows)

import pytest

from trainer.intake import seen
from trainer.intake.seen import Seen


def test_a_group_is_new_once() -> None:
    known = Seen()
    assert known.add("a")
    assert known.add("b")
    assert not known.add("a")


def test_what_was_kept_is_known_again() -> None:
    known = Seen()
    known.add("a")
    again = Seen(known.dump())
    assert not again.add("a")
    assert again.add("b")
    assert Seen(again.dump()).dump() == again.dump()


def test_only_the_last_ones_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "REMEMBERED", 2)
    known = Seen()
    for group_id in "abc":
        known.add(group_id)
    assert len(known.dump()) == 2 * 16
    assert not known.add("b")
    assert known.add("a")

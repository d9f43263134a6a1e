"""Orders as they are given and followed; that two ranks learn what one learns is in test_process.py."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mentor_stream.config import parse_section
from tests.builders import a_group, a_query
from trainer import orders, ranks, stopping
from trainer.config import TrainerConfig
from trainer.orders import AllRanks
from trainer.packing.encoding import encode
from trainer.packing.shares import Share, shares


class Pupil:
    """A learner that writes down what it is asked to do."""

    architecture = None

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def step(self, share: Any) -> None:
        self.calls.append(("step", encode(share) if isinstance(share, Share) else share))

    def weights(self) -> Iterator[tuple[str, None]]:
        yield "first", None
        self.calls.append(("weights",))  # only by who goes on to the end

    def save(self, directory: Path) -> None:
        self.calls.append(("save", directory))

    def load(self, directory: Path) -> None:
        self.calls.append(("load", directory))


CONFIG = parse_section(TrainerConfig, {}, "trainer")


def checked(part: bytes, size: int) -> bytes:
    assert len(part) == size
    return part


def everyone(lead: Pupil) -> AllRanks:
    return AllRanks(lead)  # type: ignore[arg-type]


def test_followers_do_all_that_the_lead_does(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []
    monkeypatch.setattr(ranks, "is_alone", lambda: False)
    monkeypatch.setattr(ranks, "send", sent.append)
    monkeypatch.setattr(ranks, "receive", lambda: sent.pop(0))
    monkeypatch.setattr(ranks, "scatter", sent.extend)
    monkeypatch.setattr(ranks, "receive_part", lambda sizes: checked(sent.pop(0), *sizes))
    monkeypatch.setattr(stopping, "ignore", lambda: None)
    lead, follower = Pupil(), Pupil()
    ranked = everyone(lead)
    ranked.step(shares([a_group("WR"), a_group("RW", query=a_query(position=1))], CONFIG))
    assert list(ranked.weights()) == [("first", None)]
    ranked.save(Path("a/b"))
    ranked.load(Path("a/c"))
    ranked.leave()
    orders.follow(follower)  # type: ignore[arg-type]
    assert follower.calls == lead.calls
    assert [name for name, *_ in lead.calls] == ["step", "weights", "save", "load"]
    assert not sent


def test_a_batch_is_not_encoded_where_no_rank_follows(rank: None) -> None:
    lead, nothing_to_encode = Pupil(), object()
    everyone(lead).step([nothing_to_encode])  # type: ignore[list-item]
    assert lead.calls == [("step", nothing_to_encode)]

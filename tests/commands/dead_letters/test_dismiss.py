"""Dead letters that are put aside: by place, or those that requeue refuses."""

import json
from pathlib import Path

import anyio
import pytest

import schemas
from mentor_stream import stream, topics
from mentor_stream.commands.dead_letters import letters
from mentor_stream.commands.dead_letters.dismiss import Dismissal, dismiss
from mentor_stream.stream import Stream
from tests.commands.dead_letters.burying import HOSTILE, NEWER, a_letter, prepare
from tests.runs import Done, as_json, mentor_stream, url, write_config


def test_a_dismissed_letter_stays_and_is_requeued_by_force_only(tmp_path: Path) -> None:
    config = prepare(tmp_path, HOSTILE, NEWER)
    assert mentor_stream("dead-letters", "requeue", config, "--all").returncode == 1
    done = mentor_stream("dead-letters", "dismiss", config, "0", "1")
    assert (done.returncode, done.stdout.splitlines()) == (0, ["letter 0 dismissed", "letter 1 dismissed"])
    assert as_json("dead-letters", "requeue", config, "--all")["letters"] == []
    listed = [json.loads(line) for line in lines(mentor_stream("dead-letters", "list", config, "--json"))]
    assert [(one["place"], one["dismissed"] is not None, one["requeued"]) for one in listed] == [
        (0, True, None),
        (1, True, None),
    ]
    assert ["state", "dismissed"] in map(str.split, lines(mentor_stream("dead-letters", "show", config, "1")))
    (refused,) = as_json("dead-letters", "requeue", config, "1", code=1)["letters"]
    assert refused["refusal"] == "it was dismissed; --force requeues it all the same"
    (forced,) = as_json("dead-letters", "requeue", config, "1", "--force")["letters"]
    assert forced["requeued"] is True
    (late,) = as_json("dead-letters", "dismiss", config, "1", code=1)["letters"]
    assert late == {"place": 1, "dismissed": False, "reason": f"it was requeued, to {place_of(forced)}"}


def place_of(requeued: dict[str, object]) -> str:
    return "/".join(str(requeued[part]) for part in ("topic", "partition", "offset"))


def lines(done: Done) -> list[str]:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_what_requeue_refuses_is_named_before_it_is_dismissed(tmp_path: Path) -> None:
    config = prepare(tmp_path, HOSTILE, NEWER)
    readable = a_letter().held
    assert readable
    anyio.run(publish, url(tmp_path), readable, backend="trio")
    choice = ("dead-letters", "dismiss", config, "--unrequeueable")
    named = as_json(*choice, code=1)["letters"]
    assert [(one["place"], one["dismissed"]) for one in named] == [(0, False), (1, False)]
    assert all(
        one["reason"].startswith("--yes dismisses it; requeue refuses it: it would come straight back")
        for one in named
    )
    assert as_json(*choice, "--topic", "groups")["letters"] == []
    listed = lines(mentor_stream("dead-letters", "list", config, "--json"))
    assert [json.loads(line)["dismissed"] for line in listed] == [None, None, None]
    done = mentor_stream(*choice, "--yes", "--topic", "queries")
    assert done.returncode == 0
    assert "letter 1 dismissed: requeue refuses it: it would come straight back" in done.stdout
    assert mentor_stream(*choice).stdout == "no dead letters to dismiss\n"
    (left,) = as_json("dead-letters", "requeue", config, "--all")["letters"]
    assert left["place"] == 2


async def publish(url: str, held: schemas.DeadLetter) -> None:
    async with stream.connect(url, "run", "rollout") as run:
        await run.publish(topics.DEAD_LETTERS, held)


@pytest.mark.parametrize(
    "choice", [(), ("0", "--unrequeueable"), ("0", "--yes"), ("0", "--topic", "queries")]
)
def test_dismiss_wants_letters_or_those_that_cannot_go_back(tmp_path: Path, choice: list[str]) -> None:
    done = mentor_stream("dead-letters", "dismiss", write_config(tmp_path), *choice)
    assert done.returncode == 2
    assert "name letters, or --unrequeueable" in done.stderr


@pytest.mark.anyio
async def test_a_letter_is_dismissed_once_and_one_that_cannot_be_read_too(run: Stream) -> None:
    async with run.broker.producer() as producer:
        await producer.send("run.dead-letters", b"", b"poison")
    for _ in range(2):
        assert await dismiss(run.broker, "run", await letters.find(run.broker, "run")) == [Dismissal(0, True)]
    async with run.reader(topics.DEAD_LETTERS, start={letters.home("run"): 1}, follow=False) as found:
        records = [delivery.record async for delivery in found]
    assert [(record.source, record.error) for record in records] == [("operator", "letter 0 was dismissed")]

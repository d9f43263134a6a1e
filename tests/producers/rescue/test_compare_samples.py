"""`mentor-stream compare --samples` as a user has it: two runs' hints, tried on a policy."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from mentor_stream import stream, topics
from mentor_stream.commands import side_by_side
from schemas import Diagnosis, Outcome, Query
from tests.builders import a_group, a_guided_query, a_query
from tests.producers.scripted import release
from tests.runs import as_json, mentor_stream, url

QUESTIONS = 10
VERIFIER = """
from mentor_stream.config import Section
from producers.rewards.base import Judgement, Unscorable

class Config(Section):
    "It has no options."

class CountsWords:
    "Cannot judge every third question; right are answers of an odd number of words."
    def score(self, query, completion):
        if int(query.reference) % 3 == 2:
            raise Unscorable("one of those")
        right = len(completion.split()) % 2 == 1
        return Judgement(right, float(right))

def build(config):
    return CountsWords()
"""
SAMPLED = ("--samples", "4")
NEAREST = "run.policy, of what is there the nearest to policy 0, the median of those that failed"
OWN = 'engine = { kind = "transformers", device = "cpu", num_threads = 1 }'


def a_case(lesson: Query, **changes: Any) -> Diagnosis:
    assert lesson.hint
    fields: dict[str, Any] = {
        "group_id": lesson.hint.group_id, "query_id": "x", "guide": lesson.hint.guide, "round": 1,
        "outcome": Outcome.HINT, "reason": "validated", "hint": lesson.hint,
        "guided_query_id": lesson.query_id, "policy_version": 0,
    }  # fmt: skip
    return Diagnosis(**(fields | changes))


def silent(lesson: Query) -> Diagnosis:
    return a_case(lesson, outcome=Outcome.SILENT, reason="nothing", hint=None, guided_query_id=None)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def runs(place: Path, tiny_policy: Path) -> tuple[str, str]:
    """A run and a replay of it: every second hint is the same, one is too long, one is missing."""

    async def main() -> None:
        async with (
            stream.connect(url(place), "run", "mentor") as run,
            stream.connect(url(place), "again", "mentor") as again,
        ):
            for number in range(QUESTIONS):
                question = a_query(f"What is {number % 10} + 1 ?", str(number), position=number)
                await run.publish(topics.COLLAPSED, a_group("WW", query=question))
                words = "1 " * 60 if number == 3 else "no 1 2"
                ours, theirs = a_guided_query(question, words), a_guided_query(question, "no 1 2")
                if number % 2:
                    theirs = a_guided_query(question, "yes 7")
                await run.publish(topics.GUIDED, ours)
                await run.publish(topics.DIAGNOSES, a_case(ours))
                await again.publish(topics.DIAGNOSES, silent(theirs) if number == 5 else a_case(theirs))

    anyio.run(main, backend="trio")
    (place / "counting.py").write_text(VERIFIER)
    config = place / "run.toml"
    config.write_text(
        f"""
        [run]
        name = "run"
        directory = "{place}/run"
        broker = "{url(place)}"
        policy = "{tiny_policy}"
        [data]
        train = "none.jsonl"
        [prompt]
        max_prompt_tokens = 40
        [rollout]
        group_size = 3
        max_new_tokens = 4
        batch_queries = 4
        {OWN}
        [reward]
        verifier = {{ kind = "counting" }}
        workers = 1
        """
    )
    return str(config), f"{config}:again"


def compared(runs: tuple[str, str], *options: str) -> dict[str, Any]:
    return as_json("compare", *runs, *options)


def answers(document: dict[str, Any]) -> Path:
    return Path(document["sampled"]["answers"])


def test_both_runs_hints_are_tried_and_the_questions_without(runs: tuple[str, str], place: Path):
    document = compared(runs, *SAMPLED, "--html", "page.html")
    sampled, (ours, theirs) = document["sampled"], (run["sampled"] for run in document["runs"])
    assert (ours["cases"], ours["judged"], ours["refused"]) == (10, 6, 1)
    assert (theirs["cases"], theirs["judged"], theirs["refused"]) == (9, 7, 0)
    assert (sampled["none"]["cases"], sampled["none"]["judged"]) == (10, 7)
    assert sampled["paired"]["cases"] == 6
    assert sampled["policy"] == NEAREST
    lines = [json.loads(line) for line in answers(document).read_bytes().splitlines()[1:]]
    assert len(lines) == 10 + 5 + 4 + 4, "none, the same of both, and what each says alone"
    assert all(len(line["answers"]) == 4 for line in lines)
    for number, one in enumerate(document["questions"]):
        left, right = (side["sampled"] for side in one["sides"])
        assert one["sampled"]["judged"] == (0 if number % 3 == 2 else 4)
        assert (right is None) == (number == 5)
        if number % 2 == 0:
            assert left == right
        if number == 3:
            assert "max_prompt_tokens is 40" in left["refusal"]
    right = sum(one["sides"][0]["sampled"]["right"] for one in document["questions"])
    assert 0 < right < 24
    assert ours["accuracy"] == pytest.approx(right / 24)
    page = (place / "page.html").read_text()
    assert "no hint" in page
    assert NEAREST in page


def test_answers_without_a_verdict_leave_the_figures(runs: tuple[str, str]):
    document = compared(runs, *SAMPLED)
    none = document["sampled"]["none"]
    assert none["unscorable_answers"] == 4 * 3
    right = sum(one["sampled"]["right"] for one in document["questions"])
    assert none["accuracy"] == pytest.approx(right / (4 * 7))


def test_stopped_or_not_the_same_seed_says_the_same_and_another_one_something_else(
    runs: tuple[str, str], place: Path
):
    whole = compared(runs, *SAMPLED)
    written = answers(whole).read_bytes()
    again = compared(runs, *SAMPLED)
    assert (again, answers(again).read_bytes()) == (whole, written), "nothing is asked twice"
    lines = written.splitlines(keepends=True)
    for kept in (0, 1, 6):
        answers(whole).write_bytes(b"".join(lines[: 1 + kept]) + b'{"question')
        assert compared(runs, *SAMPLED) == whole
        assert sorted(map(judged, answers(whole).read_bytes().splitlines())) == sorted(map(judged, lines))
    other = compared(runs, *SAMPLED, "--seed", "7")
    assert answers(other) != answers(whole)
    assert other["questions"] != whole["questions"]


def judged(line: bytes) -> str:
    """A line of a file but for the digest, which is of those before it too."""
    return json.dumps({name: value for name, value in json.loads(line).items() if name != "digest"})


def released(place: Path, policy_with: Callable[..., Path], *versions: int) -> Path:
    """Releases of a run; where the last one lies."""

    async def main() -> Path:
        async with stream.connect(url(place), "run", "trainer") as run:
            for version in versions:
                made = await release(run, place, version, policy=policy_with(f"p{version}", seed=version))
        return Path(made.uri)

    return anyio.run(main, backend="trio")


def test_hints_are_tried_on_what_failed_and_not_on_what_has_learned_since(
    runs: tuple[str, str], place: Path, policy_with: Callable[..., Path]
):
    released(place, policy_with, 1, 2)
    assert compared((runs[1], runs[0]), *SAMPLED)["sampled"]["policy"] == NEAREST

    async def failed_later() -> None:
        async with stream.connect(url(place), "later", "mentor") as later:
            for number in range(3):
                question = a_query(f"What is {number} + 1 ?", str(number), position=number)
                lesson = a_guided_query(question, "no 1 2")
                await later.publish(topics.GUIDED, lesson)
                await later.publish(topics.DIAGNOSES, a_case(lesson, policy_version=(0, 2, 9)[number]))

    anyio.run(failed_later, backend="trio")
    later = f"{place}/run.toml:later"
    sampled = compared((later, later), *SAMPLED)["sampled"]
    assert (sampled["policy_version"], sampled["policy"]) == (
        2, "policy 2 of run, of what is there the nearest to policy 2, the median of those that failed",
    )  # fmt: skip
    shutil.rmtree(sampled["model"])
    assert compared((later, later), *SAMPLED)["sampled"]["policy_version"] == 1


def test_the_newest_release_is_tried_where_it_is_named_and_a_gone_one_is_said(
    runs: tuple[str, str], place: Path, policy_with: Callable[..., Path]
):
    newest = released(place, policy_with, 1, 2)
    document = compared((runs[1], runs[0]), *SAMPLED, "--model", "newest")
    sampled = document["sampled"]
    assert (sampled["policy"], sampled["policy_version"]) == ("policy 2, the newest release of run", 2)
    assert sampled["model"] == str(newest)
    named = compared((runs[1], runs[0]), *SAMPLED, "--model", "p2")
    assert [one["sampled"] for one in named["questions"]] == [one["sampled"] for one in document["questions"]]
    shutil.rmtree(newest)
    gone = mentor_stream("compare", *runs, "--model", "newest")
    assert gone.returncode == 2
    assert str(newest) in gone.stderr
    assert "Give --model another model's directory." in gone.stderr


def test_the_table_says_what_was_tried_and_whether_the_runs_differ(runs: tuple[str, str]):
    shown = mentor_stream("compare", *runs, "--samples", "2").stdout
    assert "2 answers each by " in shown
    assert f"({NEAREST}):" in shown
    assert "run - again" in shown
    assert "[sampled: too long]" in shown
    assert "[no hint: " in shown


def test_the_table_warns_where_samples_say_nothing_about_hints(capsys: pytest.CaptureFixture[str]):
    way = {
        "cases": 2, "rescue_rate": 1.0, "rescue_interval": None, "accuracy": 0.99, "accuracy_interval": None,
        "refused": 0, "unscorable_answers": 0,
    }  # fmt: skip
    found = {"none": way, "paired": None, "samples": 2, "model": "m", "policy": "--model"}
    run = {"run": "run", "sampled": way | {"against_none": None}}
    for warning in (None, "99 % of the answers without a hint are right"):
        side_by_side.samples(found | {"warning": warning}, [run, run])
        assert ("Beware: 99 % of the answers" in capsys.readouterr().out) == bool(warning)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--model", "nowhere"], "nowhere is no model to sample with"),
        (["--model", "newest"], "--model is 'newest', but run has released no policy"),
        (["--samples", "2", "--engine", "{kind"], "--engine is '{kind'"),
        (["--samples", "2", "--engine", "warp"], "--engine.kind is 'warp'"),
        (["--samples", "2", "--engine", '{kind = "transformers", device = "warp"}'], "'warp'"),
    ],
)
def test_what_cannot_work_is_one_line_with_the_way_out(
    runs: tuple[str, str], options: list[str], problem: str
):
    done = mentor_stream("compare", *runs, *options)
    assert done.returncode == 2, done.stderr
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_servers_of_a_rollout_worker_are_not_borrowed(runs: tuple[str, str], place: Path):
    config = place / "run.toml"
    config.write_text(config.read_text().replace(OWN, 'engine = { kind = "vllm" }'))
    done = mentor_stream("compare", *runs, *SAMPLED)
    assert done.returncode == 2
    assert "rollout.engine.kind is 'vllm', whose servers are the rollout worker's alone" in done.stderr

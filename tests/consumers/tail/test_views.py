"""What a person is shown: one screenful at most, and nothing that steers the terminal."""

import json
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

import schemas
from consumers.following import Event
from consumers.tail import documents, views
from consumers.tail.choice import Choice
from consumers.tail.lessons import Lesson, Result
from mentor_stream import topics
from mentor_stream.broker import TopicPartition
from tests.builders import a_group, a_guided_query, a_query, a_record_of_each_kind, a_trajectory

HOSTILE = "\x1b]0;owned\x07\r\n\u202e[bold red]" + "x" * 100_000
RECORDS = a_record_of_each_kind()
TOPICS = {
    "query": topics.QUERIES, "group": topics.GROUPS, "diagnosis": topics.DIAGNOSES,
    "policy_release": topics.POLICIES, "dead_letter": topics.DEAD_LETTERS,
}  # fmt: skip


def an_event(kind: str, record: schemas.Record | None = None, trouble: str = "") -> Event:
    return Event(TOPICS[kind], TopicPartition("run.topic", 0), 3, 1.0, record, trouble)


def hostile(record: schemas.Record) -> schemas.Record:
    """The same record with every text in it as bad as it gets."""
    match record:
        case schemas.Query():
            return changed(record, question=HOSTILE, hint=record.hint and changed(record.hint, text=HOSTILE))
        case schemas.Group():
            answers = tuple(changed(a_trajectory(), text=HOSTILE, remark=HOSTILE) for _ in range(100))
            query = changed(record.query, question=HOSTILE)
            return changed(record, trajectories=answers, query=query)
        case schemas.Diagnosis():
            calls = tuple(changed(record.calls[0], result=HOSTILE, agent=HOSTILE) for _ in range(100))
            return changed(record, reason=HOSTILE, calls=calls)
        case schemas.DeadLetter():
            return changed(record, error=HOSTILE, source=HOSTILE, topic=HOSTILE)
        case _:
            return record


@pytest.mark.parametrize("kind", TOPICS)
def test_hostile_text_is_escaped_and_cut(kind: str):
    lines = views.event(an_event(kind, hostile(RECORDS[kind])))
    assert 1 <= len(lines) <= 24
    assert all(line.text.isprintable() and len(line.text) < 2 * views.CHARACTERS for line in lines)


def test_a_hostile_lesson_is_escaped_and_cut():
    query, diagnosis = hostile(RECORDS["query"]), hostile(RECORDS["diagnosis"])
    lines = views.lesson(Lesson(1.0, query, diagnosis))
    assert len(lines) <= 24
    assert all(line.text.isprintable() for line in lines)


@pytest.mark.parametrize("kind", TOPICS)
def test_every_record_is_whole_json_for_programs(kind: str):
    document = documents.of_event(an_event(kind, RECORDS[kind]))
    again = json.loads(json.dumps(document, allow_nan=False))
    assert again["topic"] == TOPICS[kind].name
    assert again["record"].keys() == set(RECORDS[kind].__struct_fields__)


def test_arrays_are_lists_for_programs():
    answer = documents.of_event(an_event("group", a_group("W")))["record"]["trajectories"][0]
    assert (answer["completion_ids"], answer["logprobs"], answer["verdict"]) == (
        [7, 8, 2],
        [-0.5] * 3,
        "wrong",
    )


def test_a_lesson_shows_question_cause_and_hint_and_then_its_result():
    query = a_guided_query(a_query("What is 2 + 3?"), hint="Count on.")
    call = schemas.AgentCall(agent="attribution", draft=0, refinement=0, result="adds one too few")
    diagnosis = changed(RECORDS["diagnosis"], calls=(call,), hint=query.hint)
    text = "\n".join(line.text for line in views.lesson(Lesson(1.0, query, diagnosis)))
    assert all(
        part in text for part in ("What is 2 + 3?", "adds one too few", "Count on.", "lesson 1 by scripted")
    )
    (said,) = views.result(Result(2.0, query, 3, 7, 8))
    assert said.text.endswith("with its hint 3 of 7 right, 1 not judged")
    assert said.style == "good"


def test_a_guided_query_shows_its_hint_and_a_plain_one_its_attempt():
    guided = a_guided_query(a_query("What is 2 + 3?"), hint="Count on.")
    shown = "\n".join(line.text for line in views.event(an_event("query", guided)))
    assert all(part in shown for part in ("lesson 1 by scripted", "What is 2 + 3?", "Count on."))
    plain = "\n".join(line.text for line in views.event(an_event("query", a_query("What is 2 + 3?"))))
    assert "attempt 0" in plain
    assert "hint" not in plain


def test_of_a_groups_answers_one_of_each_verdict_is_shown_and_how_many_are_left_out():
    text = "\n".join(line.text for line in views.event(an_event("group", a_group("WWWWWWR"))))
    assert "right  4" in text
    assert "and 4 more answers: --json has them all" in text
    for all_shown in ("WWR", "W"):
        assert not any(
            "more answer" in line.text for line in views.event(an_event("group", a_group(all_shown)))
        )


def test_what_attribution_found_is_one_paragraph():
    found = "It forgets to carry.\nstep 3: 2 of 8\n\nstep 5: 7 of 8\ncarrying"
    call = schemas.AgentCall(agent="attribution", draft=0, refinement=0, result=found)
    (told,) = views.causes(changed(RECORDS["diagnosis"], calls=(call,)))
    assert told == "It forgets to carry. step 3: 2 of 8; step 5: 7 of 8; carrying"


def test_what_takes_several_rows_goes_on_behind_its_label():
    query = a_guided_query(a_query("Why? " * 50), hint="Count on.")
    shown = views.lesson(Lesson(1.0, query, RECORDS["diagnosis"]))
    texts = [line for line in shown if line.text.startswith("  ")]
    assert len(texts) >= 3
    assert all(line.text[line.indent - 2 : line.indent] == "  " != line.text[line.indent] for line in texts)


def test_a_record_that_cannot_be_read_is_shown_where_it_stands():
    (said,) = views.event(an_event("group", None, "ForeignRecord: what?"))
    assert "groups/0/3  cannot be read: ForeignRecord: what?" in said.text
    assert documents.of_event(an_event("group", None, "why"))["unreadable"] == "why"


@pytest.mark.parametrize(
    ("choice", "kinds"),
    [
        (Choice(), {"query", "group", "diagnosis", "policy_release", "dead_letter"}),
        (Choice(question="2 + 3"), {"query", "group"}),
        (Choice(question=RECORDS["query"].query_id), {"query", "group", "diagnosis"}),
        (Choice(outcome="hint"), {"diagnosis"}),
        (Choice(guide="scripted"), {"query", "group", "diagnosis"}),
        (Choice(guide="other"), set()),
        (Choice(verdict="unscorable"), {"group"}),
        (Choice(verdict="right", guide="scripted", question="what is"), {"group"}),
    ],
)
def test_what_is_chosen_fulfils_every_condition(choice: Choice, kinds: set[str]):
    assert {kind for kind in TOPICS if choice.wants(RECORDS[kind])} == kinds
    if choice != Choice():
        assert replace(choice, outcome="silent", verdict="wrong").wants(RECORDS["diagnosis"]) is False

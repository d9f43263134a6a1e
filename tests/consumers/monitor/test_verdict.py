"""What is said of a run, by what is known of it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from consumers.following import Event
from consumers.monitor.board import Board, Queue, Stand
from consumers.monitor.facts import Facts
from consumers.monitor.findings import EARLY_VERSIONS
from consumers.monitor.lately import WINDOW_SECONDS, Lately
from consumers.monitor.verdict import ORDER, REMARKS, verdict
from mentor_stream import topics
from mentor_stream.broker import TopicPartition
from mentor_stream.config import RunConfig
from mentor_stream.metrics import limits
from schemas import Consumed, Metric, PolicyRelease

ALL = frozenset({"trainer", "rollout", "mentor", "feeder"})
RISING = [0.01 * n for n in range(40)]
LEVEL = [0.3, 0.32] * 20
RUN = RunConfig.model_validate({"name": "run", "directory": "d", "broker": "sqlite:///b", "policy": "p"})


def facts(**known: Any) -> Facts:
    return Facts(**({"reporting": ALL, "version": 40, "rewards": RISING, "collapsed": 0.4} | known))


def without(*gone: str, seconds: float = 300.0) -> dict[str, Any]:
    return {"reporting": ALL - set(gone), "silent": dict.fromkeys(gone, seconds)}


TABLE = {
    "nobody has answered": (facts(away="no such file", heard=False), "waiting", "no such file"),
    "the broker died": (facts(away="refused"), "broken", "The broker does not answer: refused"),
    "over": (facts(finished=True, **without(*ALL)), "over", "The run is over at version 40"),
    "not begun": (facts(reporting=frozenset(), version=None, rewards=()), "waiting", "has not begun"),
    "all stopped": (facts(**without(*ALL)), "stopped", "Nothing has reported for 5 min at version 40"),
    "no workers": (
        facts(**without("rollout"), waiting={"queries": 3, "guided": 4}),
        "broken",
        "No rollout worker has reported for 5 min; 7 questions wait",
    ),
    "a verifier in trouble": (facts(unscorable=0.7), "broken", "70 % of the answers cannot be judged"),
    "no trainer": (facts(**without("trainer")), "broken", "The trainer has said nothing for 5 min"),
    "slow workers": (facts(idle=0.95, sampling=90.0), "starved", "waits 95 % of its time: sampling"),
    "a trainer that waits": (
        facts(waited=300.0, idle=1.0, sampling=9.0, collapsed=1.0),
        "starved",
        "for its next batch for 5 min: 100 % of the questions get no right answer, and lessons are all",
    ),
    "and no mentor": (
        facts(**without("mentor"), idle=1.0, sampling=9.0, collapsed=1.0),
        "starved",
        "and no mentor reports",
    ),
    "no feeder": (facts(**without("feeder"), idle=1.0), "starved", "no feeder has reported for 5 min"),
    "no signal": (
        facts(waited=240.0, idle=0.99, sampling=9.0, collapsed=0.89, rescued=0.11),
        "starved",
        "for 4 min: 89 % of the plain groups have no right answer and lessons rescue 11 %",
    ),
    "a run that begins": (facts(waited=20.0, idle=1.0, version=None, rewards=()), "early", "too early"),
    "lessons told at the end": (facts(finished=True, lessons=(818, 920)), "over", "Of 920 lessons 818"),
    "no questions": (facts(idle=1.0), "starved", "the feeder has none, or holds them back"),
    "stuck at zero": (
        facts(collapsed=0.99, rescued=0.01, rewards=()),
        "stalled",
        "99 % of the questions get no right answer, and no lessons change that",
    ),
    "stuck, and no lessons": (
        facts(collapsed=0.99, **without("mentor")), "stalled", "no lessons change that"
    ),
    "lessons on their way": (facts(collapsed=1.0, rewards=(), version=2), "early", "too early to tell"),
    "falling": (facts(rewards=RISING[::-1]), "stalled", "The reward fell from 0.30 to 0.10"),
    "level": (facts(rewards=LEVEL), "stalled", "The reward has stayed at 0.31 for 40 versions"),
    "level, with lessons": (facts(rewards=LEVEL, rescued=0.7), "early", "lessons rescue 70 % of their"),
    "for long": (facts(rewards=LEVEL * 2, rescued=0.7), "stalled", "stayed at 0.31 for 80 versions"),
    "few versions": (facts(rewards=RISING[: EARLY_VERSIONS - 1]), "early", "too early to tell"),
    "solved": (facts(rewards=[0.99, 0.98] * 20), "learning", "The reward is at 0.98"),
    "rising": (
        facts(accuracies=[0.1, 0.4]),
        "learning",
        "The reward rose from 0.10 to 0.30 within 40 versions; held-out accuracy: 0.10 at first, now 0.40.",
    ),
    "rising from lessons": (facts(collapsed=0.99, rescued=0.6), "learning", "The reward rose"),
    "all the same": (facts(rewards=[0.5] * 40), "stalled", "stayed at 0.50"),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLE)
def test_the_verdict_is_the_gravest_that_holds(case: str):
    known, state, sentence = TABLE[case]
    found = verdict(known)
    assert (found.state, sentence in found.sentence) == (state, True), found


def test_the_table_has_a_case_for_each_finding():
    told = {
        next(finding.__name__ for _, finding in ORDER if finding(known)) for known, _, _ in TABLE.values()
    }
    assert told == {finding.__name__ for _, finding in ORDER}


MINOR = {
    "bad_steps": ({"bad_steps": 2.0}, "2 steps had a loss or gradient that is no number"),
    "letters": ({"dead_letters": 1200}, "1,200 records could not be read"),
    "mentor_silent": (without("mentor"), "No mentor has reported for 5 min"),
    "endpoint_away": ({"unanswered": 53.0}, "endpoint has not answered for 53 s"),
    "endpoint_fails": ({"failed_calls": 1.5}, "endpoint fails, 1.5 calls a case"),
    "drafts_refused": (
        {"unhinted": 1.0, "refused": {"leak": 52.0, "vague": 1.0}},
        "100 % of the cases end without a hint, since drafts are refused, mostly as 'leak'",
    ),
    "mentor_late": ({"too_late": 0.8}, "80 % of the cases come too late"),
    "mentor_behind": ({"backlog": [1.0] * 20 + [90.0] * 20}, "falls behind, 90 cases wait"),
    "hints_fail": ({"rescued": 0.05}, "Lessons rescue 5 % of their questions"),
    "lessons_alone": ({"collapsed": 0.99, "rescued": 0.5}, "lessons are all there is"),
    "some_unjudged": ({"unscorable": 0.2}, "20 % of the answers cannot be judged"),
    "idle": ({"idle": 0.6}, "waits 60 % of its time"),
}


@pytest.mark.parametrize("name", MINOR)
def test_what_else_is_to_be_known_is_a_remark(name: str):
    known, sentence = MINOR[name]
    found = verdict(facts(**known))
    assert (found.state, len(found.remarks)) == ("learning", 1), found
    assert sentence in found.remarks[0]


def test_every_remark_is_tried_and_a_run_in_order_has_none():
    assert [remark.__name__ for remark in REMARKS] == list(MINOR)
    assert verdict(facts()).remarks == ()


@pytest.mark.parametrize("name", limits.OF_ALERTS)
def test_alerts_and_the_monitor_judge_by_the_same_limits(name: str):
    file = Path(__file__).parents[3] / "deploy/grafana/alerts.yaml"
    rules = [rule for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]
    (expression,) = (rule["expr"] for rule in rules if rule["alert"] == name)
    assert f"{limits.OF_ALERTS[name]:g}" in expression.split()


def a_metric(component: str, instance: str = "host:1", **values: float) -> Metric:
    return Metric(component=component, instance=instance, time=1.0, values=values)


def test_totals_grow_over_all_processes_and_what_is_long_ago_is_forgotten():
    known = Lately()
    for second in range(0, 2000, 5):
        failed = min(second, 400)
        for instance in ("a", "b"):
            metric = a_metric("mentor", instance, cases=float(second), failed_calls=float(failed))
            known.take(metric, float(second))
    assert known.grown("mentor", "failed_calls") == 0.0
    assert known.grown("mentor", "cases") == pytest.approx(2 * WINDOW_SECONDS, rel=0.05)
    assert known.share("rollout", "unscorable", "right") is None
    known.take(a_metric("mentor", "a", cases=3.0), 2000.0)  # it was started again
    assert known.grown("mentor", "cases") == pytest.approx(2 * WINDOW_SECONDS, rel=0.05)


def test_the_board_tells_a_run_that_learns_from_one_that_died():
    board, offset = Board(RUN), 0
    board.hear(Stand(1.0, (Queue("queries", "rollout", 7),)))
    for version in range(40):
        for metric in (
            a_metric("rollout", groups=8.0 * version, collapsed=float(version), tokens_per_second=50.0),
            Metric(
                component="trainer", instance="host:2", time=10.0 + version, policy_version=version,
                values={"reward": version / 40, "wait_seconds": 0.1, "step_seconds": 1.0},
            ),
        ):  # fmt: skip
            place = TopicPartition("run.metrics", 0)
            board.take(Event(topics.METRICS, place, offset, 10.0 + version, metric))
            offset += 1
    assert board.verdict(50.0)["state"] == "learning"
    assert "rose from 0.24 to 0.74" in board.verdict(50.0)["sentence"]
    died = board.verdict(500.0)
    assert (died["state"], "Nothing has reported for 8 min at version 39" in died["sentence"]) == (
        "stopped",
        True,
    )


def told(*metrics: Metric) -> Board:
    board = Board(RUN)
    board.hear(Stand(1.0, (Queue("collapsed", "mentor", 7), Queue("queries", "rollout", 7))))
    for offset, metric in enumerate(metrics):
        board.take(Event(topics.METRICS, TopicPartition("run.metrics", 0), offset, metric.time, metric))
    return board


def test_a_trainer_that_waits_for_groups_with_a_signal_is_starved_and_says_what_helps():
    counted = {"plain_groups": 9.0, "collapsed_groups": 8.0, "guided_groups": 9.0, "rescued_groups": 0.0}
    steps = [a_metric("trainer", "host:2", waiting_seconds=200.0, **counted)]
    found = told(a_metric("rollout", tokens_per_second=0.0), *steps).verdict(2.0)
    assert found["state"] == "starved"
    assert "89 % of the plain groups have no right answer and lessons rescue 0 %" in found["sentence"]
    assert not any("rollout workers" in remark for remark in found["remarks"])


def test_refused_drafts_and_an_endpoint_that_is_down_are_remarks_from_the_mentors_reports():
    first = a_metric("mentor", fallbacks=0.0, refused_leak=0.0, answered=0.0, down=0.0)
    refused = a_metric("mentor", fallbacks=9.0, refused_leak=27.0, answered=50.0, down=0.0)
    down = a_metric("mentor", fallbacks=9.0, refused_leak=27.0, answered=50.0, down=3.0)
    remarks = told(first, refused, down).verdict(3.0)["remarks"]
    assert any("mostly as 'leak'" in remark for remark in remarks)
    assert any("endpoint has not answered" in remark for remark in remarks)


def test_the_newest_figures_of_a_run_are_those_of_its_end():
    values = {"generated_tokens": 394.0, "guided_groups": 8.0, "rescued_groups": 6.0}
    board = told(Metric(component="trainer", instance="a", time=1.0, policy_version=1, values=values))
    status = board.document()["status"]
    assert (status["tokens"], status["rates"]["rescue_rate"]) == (394.0, 0.75)
    board.release = PolicyRelease(
        policy_version=2,
        step=2,
        uri="p",
        digest="d",
        consumed=Consumed(tokens=400),
        final=True,
        published_at=1.0,
    )
    assert board.document()["status"]["tokens"] == 400


def test_no_queue_is_shown_for_a_mentor_that_never_reported():
    def readers(board: Board) -> list[str]:
        return [queue["reader"] for queue in board.document()["status"]["queues"]]

    assert readers(told(a_metric("rollout", groups=1.0))) == ["rollout"]
    assert readers(told(a_metric("mentor", cases=1.0))) == ["mentor", "rollout"]

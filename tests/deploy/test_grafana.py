"""deploy/grafana/: dashboard and alerts name only metrics and labels that there are, and say what to do."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mentor_stream.metrics import catalogue
from mentor_stream.metrics.measure import COMMON_LABELS, Kind, Measure
from mentor_stream.metrics.page import markdown

ROOT = Path(__file__).parents[2]
GRAFANA = ROOT / "deploy" / "grafana"
DASHBOARD: dict[str, Any] = json.loads((GRAFANA / "dashboard.json").read_text())
RULES = [
    rule
    for group in yaml.safe_load((GRAFANA / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
OF_PROMETHEUS = {"instance", "job"}
"""Labels that it gives by itself."""
NO_METRIC = {
    *(
        "sum",
        "max",
        "min",
        "count",
        "rate",
        "increase",
        "changes",
        "time",
        "histogram_quantile",
        "min_over_time",
    ),
    *("by", "on", "and", "group_left"),
}
"""Words of its language that are used."""
SERIES = {name: measure for measure in catalogue.ALL for name in measure.series}


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def expressions() -> Iterator[str]:
    for panel in panels():
        yield from (target["expr"] for target in panel["targets"])
    yield from (rule["expr"] for rule in RULES)


def metrics(expression: str) -> set[str]:
    """The names of metrics in it."""
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\b(by|on|group_left) *\([^)]*\)", " ", expression)
    return set(re.findall(r"\b[a-z_][a-z_0-9]*\b", bare, re.IGNORECASE)) - NO_METRIC


def selected(expression: str) -> Iterator[tuple[str, str, str]]:
    """Metric, label and value of every matcher in it."""
    for metric, matchers in re.findall(r"(\w+)\{([^}]*)\}", expression):
        for label, value in re.findall(r'(\w+) *(?:=|!=|=~|!~) *"([^"]*)"', matchers):
            yield metric, label, value


def grouped(expression: str) -> set[str]:
    return {
        label.strip()
        for _, labels in re.findall(r"\b(by|on) *\(([^)]*)\)", expression)
        for label in labels.split(",")
    }


def labels_of(measure: Measure) -> set[str]:
    return {*COMMON_LABELS, *OF_PROMETHEUS, *measure.labels} | (
        {"le"} if measure.kind is Kind.HISTOGRAM else set()
    )


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_an_expression_names_only_metrics_and_labels_that_there_are(expression: str) -> None:
    named = metrics(expression)
    assert named
    assert named <= {*SERIES, "up"}
    known = set().union(*(labels_of(SERIES[name]) for name in named if name in SERIES), OF_PROMETHEUS)
    assert grouped(expression) <= known
    for metric, label, value in selected(expression):
        assert metric == "up" or label in labels_of(SERIES[metric])
        if metric in SERIES and label in SERIES[metric].labels:
            assert set(value.split("|")) <= values_of(SERIES[metric], label)


def values_of(measure: Measure, label: str) -> set[str]:
    """All that a label of its own can be."""
    from mentor_stream import topics

    if label == "reader":
        return {"rollout", "mentor", "trainer"}
    if label == "topic":
        return {topic.name for topic in topics.ALL}
    place = measure.labels.index(label)
    return {series[place] for series in (*measure.begins, *measure.keys.values())}


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_a_counter_is_shown_as_a_rate(expression: str) -> None:
    for name in metrics(expression):
        if (
            name in SERIES
            and SERIES[name].kind is not Kind.GAUGE
            and name != "mentor_stream_trainer_generated_tokens_total"
        ):
            assert re.search(rf"(rate|increase)\({name}", expression), name


def test_a_query_that_names_what_there_is_not_would_be_found() -> None:
    assert metrics('rate(mentor_stream_wrong_total{run="x"}[5m]) / on (run) up') == {
        "mentor_stream_wrong_total",
        "up",
    }
    assert "mentor_stream_wrong_total" not in SERIES
    assert list(selected('a{x="1", y=~"2|3"} + b{z!="4"}')) == [
        ("a", "x", "1"),
        ("a", "y", "2|3"),
        ("b", "z", "4"),
    ]
    assert grouped("sum by (le, run) (x) and on (topic) y") == {"le", "run", "topic"}


def test_the_dashboard_asks_the_data_source_and_the_runs_that_are_chosen() -> None:
    variables = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["run"]["query"]["query"] == "label_values(mentor_stream_alive, run)"
    for panel in panels():
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert all('run=~"$run"' in target["expr"] for target in panel["targets"]), panel["title"]
        assert panel["description"]


def test_panels_have_ids_of_their_own_and_lie_beside_each_other() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + dx, place["y"] + dy) for dx in range(place["w"]) for dy in range(place["h"])}
        assert not taken & cells, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
    rows = [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"]
    assert rows == ["Learning", "Trainer", "Rollout", "Mentor", "Broker and lag", "Health"]


def test_an_alert_says_what_is_wrong_and_what_to_do() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(names) == len(set(names))
    for rule in RULES:
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert set(rule["annotations"]) == {"summary", "action"}
        used = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        assert "run" in used
        by = re.match(r"(?:sum|max|histogram_quantile)", rule["expr"].removeprefix("time() - "))
        assert not by or used <= grouped(rule["expr"]), rule["alert"]


def test_the_page_explains_every_metric_as_it_is_declared() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text()
    _, _, explained = page.partition("## Every metric\n\n")
    assert explained == markdown(), (
        "mentor-stream metrics list --markdown prints what belongs below the heading"
    )


@pytest.fixture
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("no promtool here: apt-get install prometheus")
    return found


def run(*command: str, directory: Path) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_takes_the_rules_and_raises_them_when_they_should_be(
    tmp_path: Path, promtool: str
) -> None:
    for path in (
        GRAFANA / "alerts.yaml",
        GRAFANA / "prometheus.yaml",
        Path(__file__).with_name("alerts.test.yaml"),
    ):
        shutil.copy(path, tmp_path)
    run(promtool, "check", "rules", "alerts.yaml", directory=tmp_path)
    run(promtool, "check", "config", "prometheus.yaml", directory=tmp_path)
    run(promtool, "test", "rules", "alerts.test.yaml", directory=tmp_path)


def test_prometheus_understands_every_query_of_the_dashboard(tmp_path: Path, promtool: str) -> None:
    queries = [target["expr"] for panel in panels() for target in panel["targets"]]
    rules = [
        {"record": f"query:{place}", "expr": query.replace("$__rate_interval", "1m")}
        for place, query in enumerate(queries)
    ]
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    run(promtool, "check", "rules", "queries.yaml", directory=tmp_path)

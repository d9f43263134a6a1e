"""deploy/helm: what the examples' values make is what Kubernetes takes."""

import json
import re

import jsonschema
import kubernetes_validate
import pytest
import yaml

from tests.deploy.chart import (
    CHART,
    EXAMPLES,
    KUBERNETES,
    every_example,
    helm,
    objects,
    pods,
    rendered,
)
from tests.deploy.custom_resources import KINDS

GRAFANA = CHART.parents[1] / "grafana"


@every_example
def test_helm_finds_nothing_to_complain_about(example: str) -> None:
    done = helm("lint", CHART, "--strict", "--kube-version", f"{KUBERNETES}.0", "--values", EXAMPLES[example])
    assert done.returncode == 0, done.stdout + done.stderr


@every_example
def test_every_object_is_as_its_kind_is_defined(example: str) -> None:
    for one in rendered(example):
        kind = f"{one['apiVersion']}/{one['kind']}"
        if kind in KINDS:
            jsonschema.validate(one, KINDS[kind])
        else:
            kubernetes_validate.validate(one, KUBERNETES, strict=True)


@pytest.mark.parametrize("component", ["feeder", "rollout", "mentor", "evaluator", "trainer", "monitor"])
def test_a_component_may_run_elsewhere(component: str) -> None:
    left = rendered("multi-node", f"{component}.enabled=false")
    names = {one["metadata"]["name"] for one in left}
    assert f"multi-node-{component}" not in names
    assert len(names) > 15
    kinds = {"Deployment", "Job", "NetworkPolicy", "PodDisruptionBudget", "Service"}
    for one in left:
        if one["kind"] in kinds:
            kubernetes_validate.validate(one, KUBERNETES, strict=True)


def test_what_the_cluster_has_already_is_not_made() -> None:
    settings = ("serviceAccount.create=false", "serviceAccount.name=runs", "networkPolicy.enabled=false")
    made = {one["kind"] for one in rendered("one-node", *settings)}
    assert not made & {"ServiceAccount", "NetworkPolicy", "PersistentVolumeClaim"}
    for pod in pods("one-node", *settings).values():
        assert pod["serviceAccountName"] == "runs"
        assert {"name": "storage", "persistentVolumeClaim": {"claimName": "training"}} in pod["volumes"]


def test_alerts_and_the_dashboard_are_brought_along_and_find_their_jobs() -> None:
    alerts, dashboard = GRAFANA / "alerts.yaml", GRAFANA / "dashboard.json"
    settings = (f"telemetry.rules=@{alerts}", f"telemetry.dashboard=@{dashboard}")
    (rule,) = objects("multi-node", "PrometheusRule", *settings).values()
    jsonschema.validate(rule, KINDS["monitoring.coreos.com/v1/PrometheusRule"])
    assert rule["spec"] == yaml.safe_load(alerts.read_text())
    shown = objects("multi-node", "ConfigMap", *settings)["dashboard"]["data"]["multi-node.json"]
    assert json.loads(shown) == json.loads(dashboard.read_text())
    (monitor,) = objects("multi-node", "PodMonitor").values()
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    told = {
        one["targetLabel"]: one.get("replacement") for one in endpoint["relabelings"] if "targetLabel" in one
    }
    (down,) = re.findall(r'expr: up\{job=~"(.*)"\}', alerts.read_text())
    assert re.fullmatch(down, told["job"])
    assert told["run"] == "big"


@every_example
def test_names_are_given_once(example: str) -> None:
    names = [(one["kind"], one["metadata"]["name"]) for one in rendered(example)]
    assert len(set(names)) == len(names)
    assert all(one["metadata"]["namespace"] == "runs" for one in rendered(example))


@every_example
def test_what_serves_until_it_is_stopped_is_a_deployment_and_what_ends_a_job(example: str) -> None:
    assert set(objects(example, "Deployment")) == {"rollout", "mentor", "monitor"}
    assert set(objects(example, "Job")) == {"feeder", "evaluator", "trainer"}
    for job in objects(example, "Job").values():
        assert job["spec"]["podReplacementPolicy"] == "Failed"  # no two feeders, no two trainers


@every_example
def test_a_job_whose_config_must_be_mended_is_not_made_again_unless_its_files_have_yet_to_be_put_there(
    example: str,
) -> None:
    empty = bool(objects(example, "PersistentVolumeClaim"))
    fails = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2]}}
    for job in objects(example, "Job").values():
        drained, *mistaken = job["spec"]["podFailurePolicy"]["rules"]
        assert drained["action"] == "Ignore"
        assert mistaken == ([] if empty else [fails])


@every_example
def test_selectors_choose_the_pods_of_their_component_and_no_others(example: str) -> None:
    labels = {
        component: one["spec"]["template"]["metadata"]["labels"]
        for kind in ("Deployment", "Job")
        for component, one in objects(example, kind).items()
    }
    budgets = objects(example, "PodDisruptionBudget")
    selectors = {name: one["spec"]["selector"]["matchLabels"] for name, one in budgets.items()}
    selectors |= {name: one["spec"]["selector"] for name, one in objects(example, "Service").items()}
    deployed = objects(example, "Deployment")
    selectors |= {name: one["spec"]["selector"]["matchLabels"] for name, one in deployed.items()}
    for name, wanted in selectors.items():
        assert [component for component, own in labels.items() if wanted.items() <= own.items()] == [name]

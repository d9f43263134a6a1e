"""deploy/helm: what the examples' values make is what Kubernetes, Kafka and the components take."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import typer
import yaml
from torch.distributed.run import get_args_parser

from mentor_stream import cli
from mentor_stream.broker.kafka.lane import group_id
from mentor_stream.broker.kafka.settings import parse
from mentor_stream.broker.kafka.topics import topic_config
from mentor_stream.component import load_config
from mentor_stream.config import Config
from mentor_stream.topics import ALL, TopicsConfig
from tests.deploy.chart import (
    CHART,
    EXAMPLES,
    KUBERNETES,
    Object,
    attempt,
    environment,
    helm,
    objects,
    pods,
    rendered,
)
from tests.deploy.custom_resources import KINDS
from trainer.config import TrainerConfig

GRAFANA = CHART.parents[1] / "grafana"

every_example = pytest.mark.parametrize("example", EXAMPLES)


def config(example: str, component: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """As the component reads it in its pod."""
    file = directory / "run.toml"
    file.write_text(objects(example, "ConfigMap")["run"]["data"]["run.toml"])
    for name, value in environment(example, pods(example)[component]).items():
        monkeypatch.setenv(name, value)
    return load_config(file)


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
def test_every_component_reads_the_same_config_and_finds_nothing_wrong_with_it(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = {
        component: config(example, component, tmp_path, monkeypatch).sections for component in pods(example)
    }
    assert set(read) == {"feeder", "rollout", "mentor", "evaluator", "trainer", "monitor"}
    assert all(sections == read["feeder"] for sections in read.values())


@every_example
def test_every_container_runs_a_command_that_there_is(example: str) -> None:
    known = typer.main.get_command(cli.app).commands  # pyright: ignore[reportAttributeAccessIssue]
    for component, pod in pods(example).items():
        (container,) = pod["containers"]
        if component == "trainer" and "command" in container:
            assert container["command"] == ["tini", "--", "python", "-m", "trainer.torchrun"]
        else:
            command, file, *options = container["args"]
            assert file == "/etc/mentor-stream/run.toml"
            assert {word for word in options if word.startswith("--")} <= {
                option for parameter in known[command].params for option in parameter.opts
            }


@every_example
def test_pods_may_do_nothing_that_they_need_not(example: str) -> None:
    for pod in pods(example).values():
        (container,) = pod["containers"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
        assert container["resources"]["requests"].keys() >= {"cpu", "memory"}
        assert "memory" in container["resources"]["limits"]


def test_pods_keep_to_the_restricted_standard_unless_programs_are_judged() -> None:
    def loose(example: str) -> set[str]:
        return {
            component
            for component, pod in pods(example).items()
            if pod["securityContext"]["seccompProfile"]["type"] != "RuntimeDefault"
        }

    assert loose("one-node") == set()
    assert loose("existing") == {"feeder", "rollout", "evaluator"}
    for component in loose("existing"):
        pod = pods("existing")[component]
        assert pod["hostUsers"] is False  # without which Kubernetes refuses the next
        assert pod["containers"][0]["securityContext"]["procMount"] == "Unmasked"


@every_example
def test_secrets_are_named_and_never_written_down(example: str) -> None:
    assert not objects(example, "Secret")
    for pod in pods(example).values():
        for name, value in environment(example, pod).items():
            if name.endswith(("_KEY", "_PASSWORD", "_TOKEN")):
                assert value in ("api-key", "password", "token")  # the keys within their Secrets


def test_keys_are_given_to_those_who_need_them() -> None:
    """The store's to who writes or reads policies, the endpoint's to the mentor."""
    stores = {
        component
        for component, pod in pods("existing").items()
        if any("secretRef" in source for source in pod["containers"][0]["envFrom"])
    }
    assert stores == {"rollout", "evaluator", "trainer"}
    asking = {c for c, pod in pods("existing").items() if "MENTOR_API_KEY" in environment("existing", pod)}
    assert asking == {"mentor"}


def test_a_secured_cluster_is_asked_with_name_password_and_its_authority(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for example in ("existing", "multi-node"):
        pod = pods(example)["feeder"]
        given = environment(example, pod)
        settings = parse(given["MENTOR_STREAM__RUN__BROKER"], given)
        mounts = {mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
        options = settings.security
        assert (options.protocol, options.mechanism) == ("SASL_SSL", "SCRAM-SHA-512")
        assert str(options.ca_file and options.ca_file.parent) in mounts


def every_topic(
    example: str, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Object, Any]]:
    read = config(example, "feeder", directory, monkeypatch)
    made = {one["spec"]["topicName"]: one["spec"] for one in objects(example, "KafkaTopic").values()}
    wanted = read.of(TopicsConfig).specs(read.run.name)
    assert set(made) == {spec.name for spec in wanted}
    return ((made[spec.name], spec) for spec in wanted)


def test_strimzi_makes_the_topics_that_we_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for made, wanted in every_topic("multi-node", tmp_path, monkeypatch):
        assert made["partitions"] == wanted.partitions
        assert made["replicas"] == wanted.replication
        assert {name: str(value) for name, value in made["config"].items()} == topic_config(wanted)
    assert config("multi-node", "feeder", tmp_path, monkeypatch).of(TopicsConfig).create is False


def test_workers_are_counted_by_the_lag_of_their_own_groups() -> None:
    scaled = objects("multi-node", "ScaledObject")
    asked = {
        (trigger["metadata"]["topic"], trigger["metadata"]["consumerGroup"])
        for one in scaled.values()
        for trigger in one["spec"]["triggers"]
    }
    worked_off = {
        (topic.of("big"), group_id(topic.group_of("big"), topic.of("big"))) for topic in ALL if topic.group
    }
    assert asked == worked_off
    for component, one in scaled.items():
        servers = one["spec"]["triggers"][0]["metadata"]["bootstrapServers"]
        assert ".runs.svc:" in servers  # KEDA asks from a namespace of its own
        target = objects("multi-node", "Deployment")[component]
        assert one["spec"]["scaleTargetRef"]["name"] == target["metadata"]["name"]
        assert "replicas" not in target["spec"]


def test_ranks_of_several_nodes_find_each_other_and_are_as_many_as_the_config_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, pod = objects("multi-node", "Job")["trainer"], pods("multi-node")["trainer"]
    options = dict(word.removeprefix("--").split("=") for word in pod["containers"][0]["args"] if "=" in word)
    ranks = int(options["nnodes"]) * int(options["nproc-per-node"])
    assert ranks == config("multi-node", "trainer", tmp_path, monkeypatch).of(TrainerConfig).ranks == 32
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == int(options["nnodes"])
    service = objects("multi-node", "Service")["trainer"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"]  # they are ready once they have found each other
    assert service["spec"]["selector"].items() <= job["spec"]["template"]["metadata"]["labels"].items()
    assert pod["subdomain"] == service["metadata"]["name"]
    assert options["master-addr"] == f"{job['metadata']['name']}-0.{pod['subdomain']}"
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == int(options["nproc-per-node"])
    assert int(options["shutdown-timeout"]) < pod["terminationGracePeriodSeconds"]


def test_torchrun_knows_what_it_is_asked_for() -> None:
    arguments = pods("multi-node")["trainer"]["containers"][0]["args"]
    *options, config = [word.replace("$(NODE_RANK)", "3") for word in arguments]
    assert get_args_parser().parse_args([*options, "trainer"]).node_rank == 3
    assert config == "/etc/mentor-stream/run.toml"


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


def test_workers_gpus_and_images_are_those_of_values_and_engines() -> None:
    def given(example: str) -> dict[str, tuple[str, int]]:
        made = {name: pod["containers"][0] for name, pod in pods(example).items()}
        return {
            name: (
                container["image"].rpartition("/")[2].partition(":")[0],
                container["resources"]["limits"].get("nvidia.com/gpu", 0),
            )
            for name, container in made.items()
            if name in ("rollout", "evaluator", "trainer")
        }

    assert given("cpu") == {
        "rollout": ("rollout-cpu", 0), "evaluator": ("rollout-cpu", 0), "trainer": ("trainer-cpu", 0)
    }  # fmt: skip
    assert given("one-node") == {
        "rollout": ("rollout-vllm", 1), "evaluator": ("rollout-cpu", 0), "trainer": ("trainer-gpu", 4)
    }  # fmt: skip
    assert given("multi-node")["evaluator"] == ("rollout-vllm", 2)
    replicas = {name: one["spec"]["replicas"] for name, one in objects("one-node", "Deployment").items()}
    assert replicas == {"rollout": 4, "mentor": 1, "monitor": 1}


def test_a_component_can_be_upgraded_alone() -> None:
    made = pods("cpu", "image.tag=1.2.0", "trainer.tag=1.3.0")
    tags = {name: pod["containers"][0]["image"].rpartition(":")[2] for name, pod in made.items()}
    assert tags.pop("trainer") == "1.3.0"
    assert set(tags.values()) == {"1.2.0"}


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


def test_weights_are_sent_from_the_trainer_s_first_pod_by_its_name(tmp_path: Path) -> None:
    for example, nodes in (("one-node", 1), ("multi-node", 2)):
        setting = "trainer.weightsPort=29600"
        trainer = pods(example, setting)["trainer"]
        (service,) = (one for name, one in objects(example, "Service", setting).items() if name == "trainer")
        assert trainer["subdomain"] == service["metadata"]["name"] == f"{example}-trainer"
        assert ("NODE_RANK" in json.dumps(trainer)) is (nodes > 1)
        found = objects(example, "ConfigMap", setting)["environment"]["data"]
        address = found["MENTOR_STREAM__RUN__WEIGHTS_FROM"]
        assert address == f"{example}-trainer-0.{example}-trainer:29600"
        between = objects(example, "NetworkPolicy", setting)["weights"]["spec"]
        for component in ("rollout", "trainer"):
            own = {**between["podSelector"]["matchLabels"], "app.kubernetes.io/component": component}
            assert _chooses(between["podSelector"], own)
    assert "WEIGHTS_FROM" not in json.dumps(rendered("one-node"))
    text = _toml("one-node").replace('kind = "vllm"', 'kind = "vllm"\nweights = "gloo"', 1)
    (tmp_path / "run.toml").write_text(text)
    refused = attempt("one-node", f"run.config=@{tmp_path / 'run.toml'}")
    assert "trainer.weightsPort is 0" in refused.stderr


def _toml(example: str) -> str:
    """The run's file in it."""
    return objects(example, "ConfigMap")["run"]["data"]["run.toml"]


def test_programs_of_a_model_reach_kafka_and_nothing_else() -> None:
    policies = objects("one-node", "NetworkPolicy")
    labels = objects("one-node", "Deployment")["rollout"]["spec"]["template"]["metadata"]["labels"]
    ports = [
        port["port"]
        for policy in policies.values()
        if _chooses(policy["spec"]["podSelector"], labels)
        for rule in policy["spec"]["egress"]
        for port in rule["ports"]
    ]
    assert sorted(set(ports)) == [53, 9092, 9093]


def _chooses(selector: Object, labels: dict[str, str]) -> bool:
    expressions = selector.get("matchExpressions", ())
    return selector["matchLabels"].items() <= labels.items() and all(
        labels.get(one["key"]) in one["values"] for one in expressions
    )


@pytest.mark.parametrize(
    ("example", "settings", "said"),
    [
        ("cpu", ["mentor.replica=2"], "/mentor/replica"),
        ("cpu", ["mentor.replicas=-1"], "/mentor/replicas"),
        ("cpu", ["mentor.replicas=two"], "/mentor/replicas"),
        ("cpu", ["pods.nodeselector.a=b"], "/pods/nodeselector"),
        ("cpu", ["kafka.security.protocol=TLS"], "/kafka/security/protocol"),
        ("cpu", ["rollout.resources.requests.cpu=many"], "/rollout/resources/requests/cpu"),
        ("cpu", ["run.environment.MENTOR_STREAM__RUN__BROKER=x"], "MENTOR_STREAM__RUN__BROKER"),
        ("cpu", ["trainer.environment.RANK=x"], "trainer.environment has RANK"),
        ("cpu", ["kafka.brokers="], "kafka.brokers is empty"),
        ("cpu", ["kafka.strimzi.enabled=true"], "there is one cluster"),
        ("cpu", ["kafka.security.protocol=SASL_SSL"], "set kafka.security.mechanism"),
        ("cpu", ["trainer.nodes=2"], "trainer.nodes is 2 without trainer.gpus"),
        ("cpu", ["run.config=[run"], "run.config is not valid TOML"),
        ("cpu", ["run.config=a = 1"], "run.config has no run.name"),
        ("cpu", ["rollout.replicas=5"], "topic queries 4 partitions"),
        (
            "cpu",
            ["mentor.autoscaling.enabled=true", "mentor.autoscaling.max=9"],
            "topic collapsed 4 partitions",
        ),
        ("one-node", ["trainer.parallel.tensor=3"], "trainer.parallel.tensor is 3: it does not divide"),
        ("one-node", ["trainer.parallel.data=4"], "is 8, and trainer.nodes x trainer.gpus is 4"),
        ("one-node", ["rollout.gpus=0"], "rollout.gpus is 0"),
        ("multi-node", ["kafka.strimzi.nodes=1"], "topics.replication is 3"),
        ("multi-node", ["evaluator.gpus=0"], "evaluator.gpus is 0"),
        ("multi-node", ["monitor.ingress.host="], "monitor.ingress.host"),
        ("multi-node", ["mentor.autoscaling.min=9"], "mentor.autoscaling.min is 9"),
    ],
)
def test_values_that_cannot_work_are_refused_by_name(example: str, settings: list[str], said: str) -> None:
    done = attempt(example, *settings)
    assert done.returncode != 0
    assert said in done.stderr


def test_the_file_of_a_run_elsewhere_is_taken_as_it_is_unless_it_writes_where_pods_cannot(
    tmp_path: Path,
) -> None:
    file = tmp_path / "run.toml"
    file.write_text(
        '[run]\nname = "Plain.Run_1"\ndirectory = "/elsewhere"\nbroker = "sqlite:///x.db"\npolicy = "p"\n'
    )
    arguments = ("template", "r", CHART, "--kube-version", f"{KUBERNETES}.0", "--set", "kafka.brokers=k:9092")
    done = helm(*arguments, "--set-file", f"run.config={file}")
    assert "run.directory is /elsewhere" in done.stderr
    file.write_text(file.read_text().replace("/elsewhere", "runs/plain"))
    assert helm(*arguments, "--set-file", f"run.config={file}").returncode == 0

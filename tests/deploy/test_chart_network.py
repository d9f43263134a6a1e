"""deploy/helm: who finds and reaches whom: Kafka, its topics and lags, ranks, weights."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch.distributed.run import get_args_parser

from mentor_stream.broker.kafka.lane import group_id
from mentor_stream.broker.kafka.settings import parse
from mentor_stream.broker.kafka.topics import topic_config
from mentor_stream.topics import ALL, TopicsConfig
from tests.deploy.chart import (
    Object,
    attempt,
    config,
    environment,
    objects,
    pods,
    rendered,
)
from trainer.config import TrainerConfig


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

"""deploy/helm: values that cannot work are refused by name, and a run's own file is taken as it is."""

from pathlib import Path

import pytest

from tests.deploy.chart import (
    CHART,
    KUBERNETES,
    attempt,
    helm,
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

"""deploy/helm: what runs in the pods, what it may do, and what it is given."""

from pathlib import Path

import pytest
import typer

from mentor_stream import cli
from tests.deploy.chart import (
    config,
    environment,
    every_example,
    objects,
    pods,
)


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

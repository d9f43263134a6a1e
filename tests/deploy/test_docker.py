"""deploy/docker: what can be told of the images without Docker."""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import typer
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mentor_stream import cli
from tests.deploy.chart import EXAMPLES, pods
from tests.deploy.dockerfile import DOCKER, DOCKERFILE, ROOT, Stage, defaults, stages, targets, words

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OURS = "10001:10001"


def linted(program: str, *arguments: str | Path) -> None:
    found = shutil.which(program, path=str(Path(sys.executable).parent)) or shutil.which(program)
    assert found, f"{program} is not installed: pip install -e '.[dev]'"
    done = subprocess.run([found, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def extras(stage: Stage) -> set[str]:
    """Of our own package, those that the stage installs."""
    found = [re.findall(r"\.whl\)\[([a-z,]+)\]", text) for text in stage.all("RUN")]
    return {extra for groups in found for group in groups for extra in group.split(",")}


def test_linters_find_nothing() -> None:
    linted("hadolint", DOCKERFILE)
    linted("shellcheck", DOCKER / "prepare")


def test_there_is_an_image_for_everything_that_is_deployed() -> None:
    assert set(targets()) == {
        "feeder", "mentor", "monitor", "rollout-cpu", "rollout-vllm", "trainer-cpu", "trainer-gpu"
    }  # fmt: skip
    services = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]
    composed = {service["build"]["target"] for service in services.values() if "build" in service}
    assert composed == set(targets())
    for example in EXAMPLES:
        for pod in pods(example).values():
            (container,) = pod["containers"]
            assert re.fullmatch(r".*/mentor-stream/([\w-]+):[\w.]+", container["image"])[1] in targets()  # pyright: ignore[reportOptionalSubscript]


@pytest.mark.parametrize("stage", targets().values(), ids=targets())
def test_an_image_runs_a_command_of_ours_and_not_as_root(stage: Stage) -> None:
    assert stage.all("USER")[-1] == OURS
    assert stage.all("WORKDIR")[-1] == "/srv/mentor-stream"
    assert words(stage.all("ENTRYPOINT")[-1]) == ["tini", "--", "mentor-stream"]
    known = typer.main.get_command(cli.app).commands  # pyright: ignore[reportAttributeAccessIssue]
    command, file, *options = words(stage.all("CMD")[-1])
    assert file == "/etc/mentor-stream/run.toml"
    assert {word for word in options if word.startswith("--")} <= {
        option for parameter in known[command].params for option in parameter.opts
    }


def test_users_and_places_are_those_of_the_chart_and_of_the_script_that_makes_them() -> None:
    script = (DOCKER / "prepare").read_text()
    uid, gid = OURS.split(":")
    assert f"groupadd --gid {gid} mentor-stream" in script
    assert f"useradd --uid {uid} --gid {gid}" in script
    assert "/srv/mentor-stream /srv/mentor-stream/runs" in script
    assert "bubblewrap tini" in script
    for pod in pods("cpu").values():
        assert (pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsGroup"]) == (
            int(uid),
            int(gid),
        )
        assert "/srv/mentor-stream" in [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]]


def test_every_image_has_the_extras_of_its_component_alone() -> None:
    installed = {
        name.removeprefix("install-"): extras(stage) for name, stage in stages().items() if extras(stage)
    }
    assert installed == {
        "feeder": {"feeder"},
        "mentor": {"mentor"},
        "monitor": {"monitor"},
        "rollout-cpu": {"rollout", "store"},
        "rollout-vllm": {"vllm", "store"},
        "trainer-cpu": {"trainer", "store"},
        "trainer-gpu": {"trainer", "gpu", "store"},
    }
    assert set().union(*installed.values()) <= set(PROJECT["project"]["optional-dependencies"])


def test_base_images_are_pinned() -> None:
    known = {*stages(), *(f"${{{name}}}" for name in defaults())}
    for stage in stages().values():
        base = re.sub(r"-[a-z0-9.-]+$", "", stage.base) if stage.base.startswith("$") else stage.base
        assert base in known, stage.base
    for image in defaults().values():
        assert re.fullmatch(r"[a-z/-]+:v?\d+\.\d+\.\d+[\w.-]*", image), image


def test_the_builder_is_sent_what_the_images_are_made_of_and_nothing_else() -> None:
    everything, *let_through = [
        line.removeprefix("!")
        for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines()
        if line and not line.startswith(("#", "**/"))
    ]
    assert everything == "*"
    copies = [text for stage in stages().values() for text in stage.all("COPY") if not text.startswith("--")]
    copied = {source for text in copies for source in text.split()[:-1]}
    assert copied == set(let_through)
    assert all((ROOT / source).exists() for source in copied)
    packages = {
        name.removesuffix("*") for name in PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    }
    assert packages <= copied


def versions(text: str) -> dict[str, str]:
    return dict(line.split("==") for line in text.splitlines() if not line.startswith("#"))


def required() -> list[Requirement]:
    """What the project asks for, for some image."""
    wanted = list(PROJECT["project"]["dependencies"])
    for extra in set[str]().union(*map(extras, stages().values())):
        wanted += PROJECT["project"]["optional-dependencies"][extra]
    return [Requirement(one) for one in wanted]


def test_what_the_project_requires_is_installed_at_a_version_that_it_takes() -> None:
    """Where it is not: python deploy/docker/pin.py > deploy/docker/constraints.txt"""
    pinned = versions((DOCKER / "constraints.txt").read_text())
    for requirement in required():
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), str(requirement)


def test_versions_to_pin_are_those_of_this_environment() -> None:
    done = subprocess.run([sys.executable, DOCKER / "pin.py"], capture_output=True, text=True, check=True)
    pinned = versions(done.stdout)
    assert pinned["torch"] == version("torch").partition("+")[0]
    assert {canonicalize_name(requirement.name) for requirement in required()} <= set(pinned)

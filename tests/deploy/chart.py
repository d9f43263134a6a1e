"""The Helm chart, rendered."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from mentor_stream.component import load_config
from mentor_stream.config import Config

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "mentor-stream"
EXAMPLES = {path.stem: path for path in sorted((ROOT / "deploy" / "helm" / "examples").glob("*.yaml"))}
KUBERNETES = "1.34"
NEARBY = ROOT.parent / "shared" / "bin" / "helm"

Object = dict[str, Any]

every_example = pytest.mark.parametrize("example", EXAMPLES)


def helm(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run it; skips where it is not."""
    program = NEARBY if NEARBY.exists() else shutil.which("helm")
    if program is None:
        pytest.skip("no helm here: https://helm.sh/docs/intro/install")
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60)


def attempt(example: str, *settings: str) -> "subprocess.CompletedProcess[str]":
    """Render an example, with these values of its own changed: VALUE=..., or VALUE=@FILE."""
    changed = [
        word.replace("=@", "=")
        for setting in settings
        for word in ("--set-file" if "=@" in setting else "--set", setting)
    ]
    values = ("--values", EXAMPLES[example], *changed)
    return helm(
        "template", example, CHART, "--namespace", "runs", "--kube-version", f"{KUBERNETES}.0", *values
    )


@cache
def rendered(example: str, *settings: str) -> tuple[Object, ...]:
    """Its objects."""
    done = attempt(example, *settings)
    assert done.returncode == 0, done.stderr
    return tuple(found for found in yaml.safe_load_all(done.stdout) if found)


def objects(example: str, kind: str, *settings: str) -> dict[str, Object]:
    """Those of a kind, by name without the release's."""
    found = (one for one in rendered(example, *settings) if one["kind"] == kind)
    return {one["metadata"]["name"].removeprefix(f"{example}").removeprefix("-"): one for one in found}


def pods(example: str, *settings: str) -> dict[str, Object]:
    """Specs of its pods, by component."""
    kinds = ("Deployment", "Job")
    made = [one for kind in kinds for one in objects(example, kind, *settings).items()]
    return {component: one["spec"]["template"]["spec"] for component, one in made}


def environment(example: str, pod: Object) -> dict[str, str]:
    """What the pod's container finds there; what comes from Secrets is called after its key."""
    maps = objects(example, "ConfigMap")
    (container,) = pod["containers"]
    found: dict[str, str] = {}
    for source in container["envFrom"]:
        if "configMapRef" in source:
            found |= maps[source["configMapRef"]["name"].removeprefix(f"{example}-")]["data"]
    for variable in container.get("env", ()):
        secret = variable.get("valueFrom", {}).get("secretKeyRef", {})
        found[variable["name"]] = variable.get("value", secret.get("key", ""))
    return found


def config(example: str, component: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """As the component reads it in its pod."""
    file = directory / "run.toml"
    file.write_text(objects(example, "ConfigMap")["run"]["data"]["run.toml"])
    for name, value in environment(example, pods(example)[component]).items():
        monkeypatch.setenv(name, value)
    return load_config(file)
